import { expect } from "@effect/vitest"
import { runIdAt, type WebhookId } from "../../../../src/domain/Id.ts"
import type { Webhook } from "../../../../src/domain/webhook/Webhook.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { Offer } from "../../../../src/repo/run/OfferStore.ts"
import { at, createWebhook, epoch } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const many = { offers: 100, length: 1_000_000 }

const offerTo = ({ id, team }: Pick<Webhook, "id" | "team">, ms: number, fields: Partial<Offer> = {}): Offer => ({
  ...{ id: runIdAt(epoch + ms), webhook_id: id, shares: id, team, request: `{"n":${ms}}`, tries: 1 },
  ...{ due_at: at(ms), until: at(ms + 600), ...fields }
})

export const offers = (test: Test): void => {
  test("returns the webhooks with offers that are due, and the first offer of each, until it is removed", function* () {
    const repo = yield* Repo
    const [one, other] = [yield* createWebhook(), yield* createWebhook()]
    const first = offerTo(one, 1, { request: '{"text":"\\u0000 ü","exact":1.10}', tries: 3 })
    const second = offerTo(one, 2)
    const third = offerTo(other, 3)
    expect(yield* repo.keepOffers([first, second, third], many)).toEqual([true, true, true])
    const due = (ms: number, except: ReadonlyArray<WebhookId> = [], limit = 10) =>
      repo.webhooksWithOffers(at(ms), { limit, except })
    expect(yield* due(0)).toEqual([])
    expect(yield* due(2)).toEqual([one.id])
    expect(yield* due(3)).toEqual([one.id, other.id])
    expect(yield* due(3, [], 1)).toEqual([one.id])
    expect(yield* due(3, [one.id])).toEqual([other.id])
    expect(yield* repo.nextOffer(one.id, at(0))).toBe(undefined)
    expect(yield* repo.nextOffer(one.id, at(3))).toEqual(first)
    yield* repo.removeOffer(first.id)
    expect(yield* repo.nextOffer(one.id, at(3))).toEqual(second)
    yield* repo.removeOffer(second.id)
    expect(yield* due(3)).toEqual([other.id])
  })

  test("delays an offer alone, or all of its webhook", function* () {
    const repo = yield* Repo
    const [one, other] = [yield* createWebhook(), yield* createWebhook()]
    const [first, second, later] = [offerTo(one, 1), offerTo(one, 2), offerTo(one, 50)]
    yield* repo.keepOffers([first, second, later, offerTo(other, 3)], many)
    yield* repo.delayOffer(first, at(20), { delaysOthers: false })
    expect(yield* repo.nextOffer(one.id, at(5))).toEqual(second)
    expect(yield* repo.nextOffer(one.id, at(20))).toEqual({ ...first, tries: 2, due_at: at(20) })
    yield* repo.delayOffer(first, at(30), { delaysOthers: true })
    expect(yield* repo.webhooksWithOffers(at(29), { limit: 9, except: [] })).toEqual([other.id])
    yield* repo.removeOffer(first.id)
    expect(yield* repo.nextOffer(one.id, at(30))).toEqual({ ...second, due_at: at(30) })
    yield* repo.removeOffer(second.id)
    expect(yield* repo.nextOffer(one.id, at(49))).toBe(undefined)
    expect(yield* repo.nextOffer(one.id, at(50))).toEqual(later)
  })

  test("keeps as many of each webhook as the limits allow, and none of a deleted one", function* () {
    const repo = yield* Repo
    const [one, other, gone] = [yield* createWebhook(), yield* createWebhook(), yield* createWebhook()]
    const kept = (offers: ReadonlyArray<Offer>) => repo.keepOffers(offers, { offers: 3, length: 30 })
    expect(yield* kept([offerTo(one, 1), offerTo(other, 2), offerTo(one, 2)])).toEqual([true, true, true])
    // The fourth, and one that is too long together with the others.
    expect(yield* kept([offerTo(one, 3), offerTo(one, 4), offerTo(other, 4, { request: "x".repeat(24) })])).toEqual([
      true,
      false,
      false
    ])
    yield* kept([offerTo(gone, 5)])
    yield* repo.deleteWebhook(gone.id)
    expect(yield* kept([offerTo(gone, 6), offerTo(other, 6)])).toEqual([false, true])
    expect(yield* repo.webhooksWithOffers(at(9), { limit: 9, except: [] })).toEqual([one.id, other.id])
  })
}

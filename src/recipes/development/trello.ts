import { fromStrangers, json, type Recipe } from "../Recipe.ts"

const board = { id: "5f2b8e0c4a1d3e6f7a8b9c0d", name: "Shop", shortLink: "CGKHU6vL" }
const list = { id: "5f2b8e0c4a1d3e6f7a8b9c11", name: "To do" }
const card = {
  id: "69f85470b8d7af0e1474fb08",
  idShort: 123,
  name: "The total is wrong with two coupons",
  shortLink: "a1B2c3D4"
}
const person = { id: "50e853a3a98492ed05002257", fullName: "Rosa Diaz", initials: "RD", username: "rosadiaz" }
const entity = (type: string, each: { readonly id: string; readonly name: string }) => ({
  type,
  id: each.id,
  text: each.name
})

export const trello: Recipe = {
  label: "Trello",
  name: "New cards of Trello",
  summary: "Works on each new card of a board.",
  starts: ["Cards: created"],
  verification: { preset: "trello" },
  secret: "known before",
  settings: {
    ...fromStrangers,
    accept_if: "payload.action.type == 'createCard'",
    run_title: "{{payload.action.data.board.name}}: {{payload.action.data.card.name}}"
  },
  prompt_template: `A new card in Trello:

{{#data}}
#{{payload.action.data.card.idShort?}}: {{payload.action.data.card.name}}
https://trello.com/c/{{payload.action.data.card.shortLink}}
Board: {{payload.action.data.board.name}}
List: {{payload.action.data.list.name?}}
Created by: {{payload.action.memberCreator.fullName?}} (@{{payload.action.memberCreator.username?}})
{{/data}}

Read the card's description, and propose how to do what it asks for.`,
  steps: [
    "At trello.com/power-ups/admin, open your Power-Up, or create one. “API Key”: generate a key. Its “Secret” is the secret. Get a token by the link “Token” there.",
    "POST the webhook below as JSON to https://api.trello.com/1/webhooks/?key=KEY&token=TOKEN. `callbackURL`: the trigger URL. `idModel`: the board's ID, which the board's URL with .json at its end shows first.",
    "Trello tests the URL at once, which the server answers."
  ],
  config: {
    file: "webhook.json",
    text: `{
  "description": "New cards",
  "callbackURL": "TRIGGER_URL",
  "idModel": "5f2b8e0c4a1d3e6f7a8b9c0d"
}
`
  },
  notes: [
    "The signature covers the callback URL. Behind a proxy, set `PUBLIC_URL`, or every request is refused.",
    "The request has the card's name but not its description: agents need a token of Trello.",
    "Cards from e-mails are emailCard, and copies are copyCard. For cards that are moved to a list, use payload.action.type == 'updateCard' && payload.action.data.listAfter.name == 'To do'.",
    "Trello retries three times, after 30, 60 and 120 seconds. Repeats start no second run."
  ],
  sample: {
    headers: json,
    payload: {
      model: {
        ...{ id: board.id, name: board.name, desc: "", closed: false },
        url: `https://trello.com/b/${board.shortLink}/shop`,
        shortUrl: `https://trello.com/b/${board.shortLink}`
      },
      action: {
        id: "69f85470b8d7af0e1474fb0e",
        idMemberCreator: person.id,
        data: { board, list, card },
        type: "createCard",
        date: "2026-05-04T08:15:12.345Z",
        display: {
          translationKey: "action_create_card",
          entities: {
            card: { ...entity("card", card), shortLink: card.shortLink },
            list: entity("list", list),
            memberCreator: { type: "member", id: person.id, text: person.fullName, username: person.username }
          }
        },
        memberCreator: { ...person, avatarHash: null, nonPublicAvailable: true }
      }
    }
  },
  documentation: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/"
}

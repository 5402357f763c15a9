import fc from "fast-check"

const digits = (maxLength: number) => fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength })

/** Any number of JSON, as text: with more digits than JavaScript's numbers have, zeros at the end, and exponents. */
export const jsonNumber: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.oneof(
      fc.constant("0"),
      digits(25).map((text) => text.replace(/^0+(?=.)/, ""))
    ),
    fc.option(digits(20)),
    fc.option(fc.tuple(fc.constantFrom("e", "E", "e+", "e-"), fc.nat({ max: 40 })))
  )
  .map(
    ([sign, whole, fraction, exponent]) =>
      sign + whole + (fraction === null ? "" : `.${fraction}`) + (exponent === null ? "" : exponent.join(""))
  )

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lookAlikeScripts } from "./look-alikes.ts";
import { mixedScripts } from "./mixed-scripts.ts";

describe("mixedScripts", () => {
  test.each<[string, string[]]>([
    ["paypal", []],
    ["раypal", ["Latin", "Cyrillic"]],
    ["Hanakο", ["Latin", "Greek"]],
    ["send to Наnako", ["Latin", "Cyrillic"]],
    ["раypal and Hanakο", ["Latin", "Cyrillic", "Greek"]],
    ["p\u200bа\u200dypal", ["Latin", "Cyrillic"]],
    ["p\u0301\u0430", ["Latin", "Cyrillic"]],
    ["user_а1", ["Latin", "Cyrillic"]],
    ["Москва and Athens and Αθήνα", []],
    ["α-helix", []],
    ["жω", []],
    ["花子さんにABCドル", []],
    ["50 µm", []],
    ["", []],
  ])("%j mixes %j", (text, scripts) => {
    expect(mixedScripts(text)).toEqual(scripts);
  });

  test("finds one foreign letter anywhere in a word", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "k", "z"), minLength: 1 });
    fc.assert(
      fc.property(letters, fc.constantFrom("а", "е", "о", "р", "с"), fc.nat(), (latin, foreign, place) => {
        const at = place % (latin.length + 1);
        expect(mixedScripts(latin)).toEqual([]);
        expect(mixedScripts(latin.slice(0, at) + foreign + latin.slice(at))).toEqual(["Latin", "Cyrillic"]);
        expect(mixedScripts(`${latin} ${foreign}`)).toEqual([]);
      }),
    );
  });
});

describe("look-alikes (X27)", () => {
  test.each<[string, string[]]>([
    ["Ꭺlice", ["Latin", "Cherokee"]],
    ["ꭺlice", ["Latin", "Cherokee"]],
    ["Hanakօ", ["Latin", "Armenian"]],
    ["ꓧanako", ["Latin", "Lisu"]],
    ["Hanakⲟ", ["Latin", "Coptic"]],
    ["Hana𐐬", ["Latin", "Deseret"]],
    ["ꓧꓮꓠꓮꓗꓳ", ["Lisu"]],
    ["ꓮ", ["Lisu"]],
    ["Send to ꓧꓮꓠꓮꓗꓳ", ["Lisu"]],
    ["ᎪᏞᏞ", ["Cherokee"]],
    ["Ⲙⲟⲣⲥ", ["Coptic"]],
    ["𝐇𝐚𝐧𝐚𝐤𝐨", ["mathematical"]],
    ["𝟝𝟘", ["mathematical"]],
    ["Ｈａｎａｋｏ", ["full-width"]],
    ["５０", ["full-width"]],
    ["Hanakｏ", ["Latin", "full-width"]],
    ["5０", ["Latin", "full-width"]],
    ["花子 Hanakｏ", ["Latin", "full-width"]],
    ["ℋanako", ["Latin", "special"]],
    ["ⅰvan", ["Latin", "special"]],
    ["oﬃce", ["Latin", "special"]],
    ["ɡoogle", ["Latin", "special"]],
    ["Раура Inc", ["Cyrillic"]],
    ["ΝΙΚΟ Ltd", ["Greek"]],
    ["սոս Co", ["Armenian"]],
  ])("%j is written with %j", (text, scripts) => {
    expect(mixedScripts(text)).toEqual(scripts);
  });

  test("a word of twins is found alone, if what is around it is Latin", () => {
    expect([mixedScripts("аррӏе"), mixedScripts("аррӏе", true)]).toEqual([[], ["Cyrillic"]]);
    // A text with a letter that looks like no other is a text in its script.
    for (const text of ["Москва", "Ελλάδα", "Եվա", "он", "花子", "Hanako"])
      expect(mixedScripts(text, true)).toEqual([]);
  });

  const latinWord = fc.string({
    unit: fc.constantFrom("a", "b", "e", "k", "z", "H", "N", "R", "S"),
    minLength: 1,
    maxLength: 12,
  });

  test("each twin belongs to its script, and is found anywhere in a Latin word", () => {
    for (const { name, letter, twins } of lookAlikeScripts)
      for (const twin of twins) {
        expect([twin, letter.test(twin)]).toEqual([twin, true]);
        fc.assert(
          fc.property(latinWord, fc.nat(), (word, place) => {
            const at = place % (word.length + 1);
            expect(mixedScripts(word.slice(0, at) + twin + word.slice(at))).toEqual(["Latin", name]);
          }),
          { numRuns: 10 },
        );
      }
  });

  test("a word of twins alone is found in scripts that are not in daily use, among any Latin words", () => {
    for (const { name, twins, inDailyUse } of lookAlikeScripts) {
      if (twins.size === 0 || inDailyUse) continue;
      const twinWord = fc.string({ unit: fc.constantFrom(...twins), minLength: 1, maxLength: 12 });
      fc.assert(
        fc.property(fc.array(latinWord), twinWord, (words, word) => {
          expect(mixedScripts([...words, word].join(" "))).toEqual([name]);
          expect(mixedScripts([word, ...words].join(" "))).toEqual([name]);
        }),
        { numRuns: 50 },
      );
    }
  });

  test("mathematical letters are found in every alphabet, at every place", () => {
    for (let point = 0x1d400; point <= 0x1d7ff; point++) {
      const letter = String.fromCodePoint(point);
      if (!/[\p{Letter}\p{Number}]/u.test(letter)) continue;
      expect(mixedScripts(letter)).toEqual(["mathematical"]);
      expect(mixedScripts(`Hana${letter}ko`)).toEqual(["Latin", "mathematical"]);
      expect(mixedScripts(`花子${letter}`)).toEqual(["mathematical"]);
    }
  });
});

describe("ordinary text of many languages", () => {
  const sentences = [
    "花子さんに50ドル送金してください",
    "第５回AWS勉強会のＡＢＣ社とNTTドコモ",
    "東京都千代田区丸の内３－５－１　ＪＰタワー３Ｆ",
    "ルイⅩⅣ世、㈱山田商店、①番、5㎏、℃",
    "ｶﾀｶﾅとiPhone15のケース",
    "请给小明转账50元，谢谢 Apple",
    "하나코에게 50달러를 보내 주세요 iPhone",
    "Отправь пятьдесят рублей Анне в Москву через Apple Pay",
    "Надішли їй гроші, будь ласка",
    "Στείλε πενήντα ευρώ στη Μαρία στην Αθήνα, iPhone",
    "أرسل خمسين دولارًا إلى هناء عبر PayPal اليوم ٥٠",
    "שלח חמישים דולר לחנה דרך PayPal",
    "हाना को पचास डॉलर भेजो iPhoneमें",
    "ส่งเงินห้าสิบดอลลาร์ให้ฮานาโกะ iPhoneรุ่น",
    "Ուղարկիր հիսուն դոլար Հանային iPhone",
    "გაგზავნე ორმოცდაათი დოლარი ჰანასთან",
    "Gửi năm mươi đô la cho Hà nhé",
    "Iğdır’daki Şule’ye elli dolar gönder",
    "Überweise fünfzig Euro an Jürgen Groß, Straße 5ª",
    "Wyślij pięćdziesiąt złotych do Łucji, naïve façade œuvre",
    "x² + y³ = 10ᵗʰ, 50 µm, 25 °C, α-helix, β test, № 5, Ω",
    "❤️ 👍🏽 👩‍💻 🇯🇵 ™ © ½",
  ];

  test.each(sentences)("%s is not marked", (sentence) => {
    expect(mixedScripts(sentence)).toEqual([]);
  });

  test("is not marked in any order, if each language has a word that only it has", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(sentences, { minLength: 1 }), (some) => {
        expect(mixedScripts(some.join(" "))).toEqual([]);
        expect(mixedScripts(some.join("\n"))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test("is marked as soon as one of its words is forged", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(sentences, { minLength: 1 }), (some) => {
        expect(mixedScripts(`${some.join(" ")} раypal`)).toEqual(["Latin", "Cyrillic"]);
        expect(mixedScripts(`ꓑꓮꓬ ${some.join(" ")}`)).toEqual(["Lisu"]);
      }),
      { numRuns: 100 },
    );
  });
});

"use strict";
// The respondent's side of a survey. SURVEY, put above this file by form.py, holds public facts only.
//
// Three rules, which tests in a real browser hold this file to:
//   1. Every chance is a ratio of whole numbers, and every draw is made of bits from crypto.getRandomValues.
//   2. The true answer is read once, into variables of `answered` and `draw`, and is gone when they return: it is never
//      in an attribute, in storage, in a request, in an address or on the console.
//   3. One draw for each question. What is drawn is shown, and nothing but what is shown can be sent.

// --- Chance -----------------------------------------------------------------------------------------------------------

// A whole number, uniform on 0 … total - 1: as many random bits as total - 1 has, again while they are not below total.
function below(total) {
  if (total < 1n) throw new RangeError("total");
  if (total === 1n) return 0n;
  const bits = (total - 1n).toString(2).length;
  const bytes = new Uint8Array((bits + 7) >> 3);
  for (;;) {
    crypto.getRandomValues(bytes);
    let number = 0n;
    for (const byte of bytes) number = (number << 8n) | BigInt(byte);
    number >>= BigInt(8 * bytes.length - bits);
    if (number < total) return number;
  }
}

// A coin that shows true with the chance of a pair [numerator, denominator], both decimal text.
function coin(chance) {
  return below(BigInt(chance[1])) < BigInt(chance[0]);
}

// An ordinary whole number, even on 0 … size - 1.
function even(size) {
  return Number(below(BigInt(size)));
}

// A set of `count` places out of `size`, all sets equally likely: each place is taken with the chance still open / left.
function some(count, size) {
  return Array.from({ length: size }, (_, place) => {
    const taken = even(size - place) < count;
    if (taken) count -= 1;
    return taken;
  });
}

// What is sent for the answer at place v of the list, or for the number v: steps as in reticent.survey.device.recipe.
function draw(question, v) {
  const made = question.recipe;
  switch (made.kind) {
    case "answers":
      return question.among[coin(made.truth) ? v : coin(made.yes) ? 0 : 1];
    case "kary":
      return question.among[coin(made.keep) ? v : (v + 1 + even(made.size - 1)) % made.size];
    case "bits":
      return bits(Array.from({ length: made.size }, (_, place) => coin(place === v ? made.hit : made.miss)));
    case "subset": {
      const kept = coin(made.keep);
      const set = some(made.chosen - (kept ? 1 : 0), made.size - 1);
      set.splice(v, 0, kept);
      return bits(set);
    }
    case "hadamard": {
      const row = v + 1;
      const minus = !coin(made.keep);
      const y = even(made.order);
      return String(odd(y & row) === minus ? y : y ^ (row & -row));
    }
    case "hash":
      return hashed(made, v);
    case "window": {
      const t = cell(made, v);
      if (coin(made.keep)) return String(t + even(made.width));
      const j = even(made.cells);
      return String(j < t ? j : j + made.width);
    }
    default:
      throw new RangeError("kind");
  }
}

function bits(flags) {
  return flags.map((flag) => (flag ? "1" : "0")).join("");
}

// Whether a whole number below 2^31 has an odd count of ones.
function odd(number) {
  let ones = 0;
  for (; number; number &= number - 1) ones += 1;
  return ones % 2 === 1;
}

// A function drawn evenly, and the class it puts v into, or another class.
function hashed(made, v) {
  const values = BigInt(made.values);
  const drawn = below(BigInt(made.functions));
  let [rest, left, sum] = [drawn, BigInt(v), 0n];
  for (let digit = 0; digit < made.digits; digit += 1) {
    sum += (rest % values) * (left % values);
    [rest, left] = [rest / values, left / values];
  }
  const own = Number(sum % values);
  return drawn + ":" + (coin(made.keep) ? own : (own + 1 + even(made.values - 1)) % made.values);
}

// The cell of a number [numerator, denominator], rounded up with the chance of what is left over.
function cell(made, number) {
  const [low, high] = [made.low.map(BigInt), made.high.map(BigInt)];
  const top = (number[0] * low[1] - low[0] * number[1]) * high[1] * BigInt(made.cells);
  const bottom = number[1] * (high[0] * low[1] - low[0] * high[1]);
  const whole = top / bottom;
  return Number(whole) + (below(bottom) < top - whole * bottom ? 1 : 0);
}

// Decimal text as a pair of whole numbers, if it is a number from low to high; else null.
function decimal(text, made) {
  const found = /^\s*([+-]?)(\d{1,15})(?:[.,](\d{0,12}))?\s*$/.exec(text);
  if (found === null) return null;
  const after = found[3] || "";
  if (after.length === 3 && Number(found[2]) > 0) return null; // 1,000 may mean one or a thousand
  const number = [BigInt(found[1].replace("+", "") + found[2] + after), 10n ** BigInt(after.length)];
  const [low, high] = [made.low.map(BigInt), made.high.map(BigInt)];
  const inside = number[0] * low[1] >= low[0] * number[1] && number[0] * high[1] <= high[0] * number[1];
  return inside ? number : null;
}

// --- What is sent -----------------------------------------------------------------------------------------------------

// A name for this sheet, so that one that arrives twice is counted once. It is chance and says nothing about anybody.
function receipt() {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// The text that is sent: the same to the letter in the file, in the code and in the request.
function message(answers, open) {
  return JSON.stringify({ format: SURVEY.format, survey: SURVEY.survey, receipt: receipt(), answers, open });
}

// The same text as a line of letters and digits that survives mail and chat, with a sum that catches a lost letter.
function code(text) {
  const bytes = new TextEncoder().encode(text);
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  const check = ((sum ^ 0xffffffff) >>> 0).toString(16).padStart(8, "0");
  const letters = btoa(String.fromCharCode(...bytes));
  return "reticent1." + letters.replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "") + "." + check;
}

async function post(text) {
  const reply = await fetch(SURVEY.post, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: text,
    credentials: "omit",
    referrerPolicy: "no-referrer",
    cache: "no-store",
    redirect: "error",
  });
  if (!reply.ok) throw new Error("refused");
}

// --- The page ---------------------------------------------------------------------------------------------------------

function element(id) {
  return document.getElementById(id);
}

// The place chosen in a list, or the number given; null where there is none. Controls keep it as a property, never as an
// attribute.
function chosen(form, name, question) {
  const text = form.elements.namedItem(name).value;
  if (question.recipe && question.recipe.kind === "window") return decimal(text, question.recipe);
  return text === "" ? null : Number(text);
}

// Ask for what is missing; nothing is drawn.
function complain(form, name, question) {
  const number = question.recipe && question.recipe.kind === "window";
  const need = number ? SURVEY.words.need_number.replace("{range}", () => question.range) : SURVEY.words.need_all;
  element("problem").textContent = need + " " + SURVEY.words.nothing;
  form.querySelector("[name=" + name + "]").focus();
  return null;
}

// The randomized answers, drawn while this runs; null, and nothing drawn, where a question is not answered.
function answered(form) {
  const consent = element("consent");
  if (consent !== null && !consent.checked) {
    element("problem").textContent = SURVEY.words.need_consent + " " + SURVEY.words.nothing;
    consent.focus();
    return null;
  }
  const truths = SURVEY.questions.map((question, index) => chosen(form, "q" + index, question));
  const plain = SURVEY.open.map((question, index) => chosen(form, "o" + index, question));
  const [first, second] = [truths.indexOf(null), plain.indexOf(null)];
  if (first >= 0) return complain(form, "q" + first, SURVEY.questions[first]);
  if (second >= 0) return complain(form, "o" + second, SURVEY.open[second]);
  const answers = SURVEY.questions.map((question, index) => ({
    design: question.design,
    answer: draw(question, truths[index]),
  }));
  return { answers, open: Object.fromEntries(SURVEY.open.map((o, index) => [o.name, o.among[plain[index]]])) };
}

// The controls go back to empty and leave the page, so that what was chosen is nowhere.
function forget(form) {
  form.reset();
  form.remove();
}

function line(term, text) {
  const row = [document.createElement("dt"), document.createElement("dd")];
  row[0].textContent = term;
  row[1].textContent = text;
  return row;
}

function show(found, text) {
  const rows = found.answers.flatMap((one, index) => line(SURVEY.questions[index].question, one.answer));
  const open = Object.entries(found.open).flatMap(([name, value]) => line(SURVEY.words.as_given.replace("{name}", () => name), value));
  element("drawn").replaceChildren(...rows, ...open);
  element("text").textContent = text;
  element("result").hidden = false;
  element("result-head").focus();
}

function say(words) {
  element("status").textContent = words;
}

function ways(text) {
  const send = element("send");
  if (send !== null) {
    send.addEventListener("click", async () => {
      send.disabled = true;
      say(SURVEY.words.sending);
      try {
        await post(text);
        say(SURVEY.words.received);
      } catch {
        send.disabled = false;
        say(SURVEY.words.failed);
      }
    });
  }
  element("save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "answer-" + JSON.parse(text).receipt + ".json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    say(SURVEY.words.saved.replace("{name}", () => link.download));
  });
  element("copy").addEventListener("click", async () => {
    const field = element("code");
    field.value = code(text);
    element("code-field").hidden = false;
    field.focus();
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      say(SURVEY.words.copied);
    } catch {
      say(SURVEY.words.selected);
    }
  });
}

function start() {
  const form = element("ask");
  if (typeof BigInt !== "function" || typeof crypto !== "object" || typeof crypto.getRandomValues !== "function") {
    return; // no fair coins here: better no answer than one drawn badly. The page says so until told otherwise
  }
  element("old").hidden = true;
  form.hidden = false;
  form.reset(); // what a browser kept from an earlier visit
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const found = answered(form);
    if (found === null) return;
    forget(form);
    const text = message(found.answers, found.open);
    show(found, text);
    ways(text);
  });
  addEventListener("pagehide", () => form.reset());
}

start();

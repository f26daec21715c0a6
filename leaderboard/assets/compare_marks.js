// Evidence inside the passages that a system cites. It is known by its place in the page, and found in the text by its
// words: texts are clipped and their blanks joined, so that a place in the page is none in the text.
"use strict";

const compareMarks = (() => {
  const { made } = compareParts;
  const LEAST = 8; // characters by which a sentence is known again that a passage cuts in two

  function uncut(text) {
    return text.endsWith("…") ? text.slice(0, -1) : text;
  }

  // How many characters of the beginning of `second` end `first`.
  function joint(first, second) {
    for (let n = Math.min(first.length, second.length); n >= LEAST; n -= 1) if (first.endsWith(second.slice(0, n))) return n;
    return 0;
  }

  // The quotes of evidence that share a character with a quote: [place in pages, start, end, text, method].
  function evidenceIn(question, place) {
    const [page, start, end] = question.quotes[place];
    return question.quotes.filter(([other, from, to, , method]) => method !== null && other === page && from < end && to > start);
  }

  // Where evidence is in a quote's text, [from, to]; null where that part is cut off.
  function placeOf([, start, end, text], [, from, to, sentence]) {
    if (from <= start && to >= end) return [0, text.length];
    const shown = uncut(text);
    const words = uncut(sentence);
    const at = shown.indexOf(words);
    if (at >= 0) return [at, at + words.length];
    const begun = from < start ? joint(words, shown) : 0;
    if (begun) return [0, begun];
    const ended = joint(shown, words);
    return ended ? [shown.length - ended, shown.length] : null;
  }

  // The text of a quote in pieces, evidence marked; evidence in the part that is cut off is put at the end.
  function marked(question, place) {
    const quote = question.quotes[place];
    const text = quote[3];
    const found = evidenceIn(question, place).map((one) => [one[3], placeOf(quote, one)]);
    const pieces = [];
    let done = 0;
    for (const [from, to] of found.map(([, at]) => at).filter(Boolean).sort(([x], [y]) => x - y)) {
      if (to <= done) continue;
      const begin = Math.max(from, done);
      pieces.push(text.slice(done, begin), made("mark", {}, text.slice(begin, to)));
      done = to;
    }
    const cut = found.filter(([, at]) => at === null).map(([sentence]) => [" ", made("mark", {}, sentence), " …"]);
    return [...pieces, text.slice(done), ...cut.flat()];
  }

  return { evidenceIn, marked };
})();

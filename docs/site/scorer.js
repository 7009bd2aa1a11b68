// How the site's search ranks pages: what one begins with and guides before what they rest on. Names and numbers are Sphinx's own, but for `score`.
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    score + (/^(README|docs\/(tutorial|guide\/|reference\/))/.test(page) ? 20 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// Ranks the search's pages: guides, the tutorial, reference pages, then the others. All but `score` are Sphinx's defaults.
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    score +
    (/^docs\/guide\/(your-configuration|ci|pytest|capture)$/.test(page) ? 32
      : /^docs\/guide\//.test(page) ? 30
      : /^docs\/tutorial$/.test(page) ? 25
      : /^(README|docs\/(reference\/laws|scenarios|contract|objectives|glossary)$)/.test(page) ? 20
      : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

"""The question explorer: what every system said to every question of a public split, as static files made ahead.

All files are under `questions/<name>-v<major>-<split>/` (exams.folder_of); systems are counted from 0 in the
order of `index.json`, questions in the order of the exam, which is that of their ids.

`index.html`              the explorer: lessons with their counts; with JavaScript, search and filters
`<lesson>.html`           a lesson page: the questions of a lesson, MOST at a time; `#<anchor>` is a question
`index.json`              edu-rag-questions-v1: what every question is, and who was asked (below)
`outcomes/<table>/<slug>.txt`  a system's outcome letters in exam order, '-' where its table did not ask: one line
`list/<k>.json`           edu-rag-list-v1: `texts` of the questions k * list_size and on, clipped to MAX_LISTED
`data/<lesson>.json`      edu-rag-shard-v1: what every system said to the questions of a lesson page (below)
`search/`                 pagefind's index of the texts and choices; `numbers.json` leads from its ids to questions

edu-rag-questions-v1: {format, dataset, split, n, list_size, search (whether there is one),
  lessons: [{slug, title, n}], tables: [{id, text, n}],
  ids: [id], anchors: {question: anchor} where an anchor is not the id, lesson: [place in lessons], n_choices: [n],
  kinds: [name], kind: [place in kinds], flags: {name: [questions]},
  slices: [{attribute, values, at: a base-36 digit a question, its value's place in values, '-' for none}],
  counts: {correct, incorrect, missing: [n a question]}, each slug counted once,
  systems: [{table, slug, name, page, outcomes}]}, both addresses from the site's top.

edu-rag-shard-v1: {format, dataset, lesson (or null), page,
  pages: [[page_id, title, address or null]],
  questions: [{question_id, anchor, text, kind, flags, choices: {label: text},
    quotes: [[place in pages, start, end, text, method or null]], a method where the span is evidence,
    answers: [[system, outcome letter, said, confidence or null, [places in quotes]]]}]}.
`said` is a choice's label, or what the system said in other words, clipped to MAX_SAID, or null where it said nothing
or its predictions are not at hand. Texts are what people wrote and may hold anything: they go into `textContent`,
never into markup; `address` is a safe link (edu_rag.look.texts) already. A change of these formats is a new name.
"""

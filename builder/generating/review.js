"use strict";
(() => {
  const store = `edu-rag-review-${document.body.dataset.set}`;
  const articles = [...document.querySelectorAll("article")];
  const reviewer = document.getElementById("reviewer");
  const state = document.getElementById("state");
  const fields = (article) => [...article.querySelectorAll("input[type=radio]")];

  // The answers of one question by criterion; a criterion without an answer is left out.
  const answers = (article) =>
    Object.fromEntries(fields(article).filter((f) => f.checked).map((f) => [f.dataset.criterion, f.value === "yes"]));
  const nCriteria = articles.length ? fields(articles[0]).length / 2 : 0;
  const isComplete = (article) => Object.keys(answers(article)).length === nCriteria;
  const note = (article) => article.querySelector(".note").value;

  function show(message) {
    const complete = articles.filter(isComplete);
    const accepted = complete.filter((article) => Object.values(answers(article)).every(Boolean));
    for (const article of articles) {
      article.classList.toggle("accepted", accepted.includes(article));
      article.classList.toggle("rejected", complete.includes(article) && !accepted.includes(article));
    }
    state.textContent = message || `${complete.length} of ${articles.length} reviewed, ${accepted.length} accepted`;
  }

  function save() {
    const kept = { reviewer: reviewer.value, articles: {} };
    for (const article of articles) kept.articles[article.dataset.id] = { answers: answers(article), note: note(article) };
    try {
      localStorage.setItem(store, JSON.stringify(kept));
      show();
    } catch (error) {
      show(`This browser does not keep your answers (${error.name}): download them before you close the page.`);
    }
  }

  function restore() {
    let kept = null;
    try {
      kept = JSON.parse(localStorage.getItem(store));
    } catch (error) {
      show(`This browser has no answers from before (${error.name}).`);
    }
    if (!kept) return;
    reviewer.value = kept.reviewer;
    for (const article of articles) {
      const own = kept.articles[article.dataset.id];
      if (!own) continue;
      article.querySelector(".note").value = own.note;
      for (const field of fields(article)) field.checked = own.answers[field.dataset.criterion] === (field.value === "yes");
    }
  }

  function lines() {
    const at = new Date().toISOString();
    return articles.filter(isComplete).map((article) =>
      JSON.stringify({
        at,
        reviewer: reviewer.value.trim(),
        question_id: article.dataset.id,
        question_key: article.dataset.key,
        criteria: answers(article),
        note: note(article),
      }),
    );
  }

  function download() {
    if (!reviewer.value.trim()) {
      reviewer.focus();
      show("Type your name first.");
      return;
    }
    const blob = new Blob([lines().map((line) => `${line}\n`).join("")], { type: "application/jsonl" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = "reviews.jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 0);
  }

  document.addEventListener("change", save);
  document.getElementById("download").addEventListener("click", download);
  for (const article of articles) {
    article.querySelector(".all").addEventListener("click", () => {
      for (const field of fields(article)) field.checked = field.value === "yes";
      save();
    });
  }
  restore();
  show();
})();

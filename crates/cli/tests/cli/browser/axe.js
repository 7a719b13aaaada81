// What axe-core finds wrong with the open page, each fault a text. It stands before this file.
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then(
  ({ violations }) => {
    const texts = ({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.target.join(" ")}: ${node.failureSummary}`);
    done(violations.flatMap(texts));
  },
  (error) => done([`axe-core did not run: ${error}`]),
);

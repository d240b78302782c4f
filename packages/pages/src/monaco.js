// Configures the editor of GraphiQL, whose script reads this when it is loaded.

const { workers } = JSON.parse(document.getElementById('settings').textContent)

self.MonacoEnvironment = {
  getWorkerUrl: (_module, label) => workers[label],
  // `start-graphiql.js` sets an option that GraphiQL has no prop for.
  globalAPI: true,
}

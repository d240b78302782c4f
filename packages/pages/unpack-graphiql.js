// Writes the files of GraphiQL to the folder that the argument names. The package of GraphiQL contains the files as
// strings.
import { writeFileSync } from 'node:fs'
import * as graphiql from '@graphql-yoga/render-graphiql/graphiql'

const files = {
  'graphiql.js': graphiql.js,
  'graphiql.css': graphiql.css,
  'graphiql-editor.js': graphiql.editorWorkerService,
  'graphiql-json.js': graphiql.jsonWorker,
  'graphiql-graphql.js': graphiql.graphqlWorker,
}
for (const [name, text] of Object.entries(files)) writeFileSync(`${process.argv[2]}/${name}`, text)

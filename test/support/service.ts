import { createApp } from './app.ts'
import { createDatabase } from './database.ts'

/**
 * Starts the service on a new database, with builders of rows. Both are removed after the tests of the file.
 *
 * @param options of `create database`
 */
export async function startService(environment?: NodeJS.ProcessEnv, options?: string) {
  const database = await createDatabase(options)
  return { ...database, database, client: await createApp(database, environment) }
}

export type TestService = Awaited<ReturnType<typeof startService>>

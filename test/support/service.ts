import { createApp } from './app.ts'
import { createDatabase } from './database.ts'

/**
 * Starts the service on a database of its own, with builders of its records. All ends after the file's tests.
 *
 * @param options of `create database`
 */
export async function startService(environment?: NodeJS.ProcessEnv, options?: string) {
  const database = await createDatabase(options)
  return { ...database, database, client: await createApp(database, environment) }
}

export type TestService = Awaited<ReturnType<typeof startService>>

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedPostgres, startEmbedded } from '../../packages/embedded/src/embedded.ts'

/**
 * Starts a server in a new directory, which `stop` removes. @param settings the settings that differ from the defaults
 * of PostgreSQL
 */
export async function startServer(settings: Record<string, string>): Promise<EmbeddedPostgres> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-test-'))
  // The server may run as another user, which needs to traverse the directory.
  chmodSync(dataDir, 0o711)
  const server = await startEmbedded({ dataDir, durable: false, settings })
  return {
    ...server,
    async stop() {
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

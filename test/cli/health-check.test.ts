/** Runs the command of HEALTHCHECK in the Dockerfile, which a container engine runs in the container of the service. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { serve } from '../support/process.ts'

const dockerfile = readFileSync(join(import.meta.dirname, '../../Dockerfile'), 'utf8')
const [, line = '[]'] = /^HEALTHCHECK [^[]*CMD (\[.*\])$/m.exec(dockerfile) ?? []
const [, ...args]: string[] = JSON.parse(line)

const check = (environment: NodeJS.ProcessEnv) =>
  new Promise<number>(resolve => {
    execFile(process.execPath, args, { env: environment, timeout: 10_000 }, error =>
      resolve(error ? Number(error.code ?? -1) : 0),
    )
  })

test.each([false, true])('a container is healthy while its process runs, with HEALTH_PORT: %s', async hasPort => {
  const { url } = await createDatabase()
  const ports = { PORT: String(await freePort()), ...(hasPort && { HEALTH_PORT: String(await freePort()) }) }
  const service = await serve({ DATABASE_URL: url, LOG_LEVEL: 'silent', ...ports })
  expect(await check(ports)).toBe(0)
  await service.stop('SIGTERM')
  expect(await check(ports)).toBe(1)
})

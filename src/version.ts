import { readFileSync } from 'node:fs'

const { version: own }: { version: string } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
)

/** The release of this service, for example `1.0.0`. */
export const version = own

// The files that integrators download, so that an integrator needs no checkout of this repository.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { docsPath } from '../http/paths.ts'

export type Download = ReturnType<typeof readDownload>

/** The path of the page. The paths of the files are below this path. */
export const downloadsPath = `${docsPath}/downloads`

/** The folder into which the build packs the packages. The path is right both from the sources and from `dist`. */
const packagesFolder = new URL('../../dist/docs/downloads/', import.meta.url)

const schemaFolder = new URL('../../schema/', import.meta.url)

/** Reads the files. @throws Error when a file is missing, because the build was not run */
export function readDownloads(): Download[] {
  const describe = (name: string) =>
    name.startsWith('voucher-gateway-sync')
      ? 'The command that keeps a copy in step, a package for npm.'
      : 'The TypeScript client, a package for npm.'
  return [
    ...readdirSync(packagesFolder).map(name =>
      readDownload(new URL(name, packagesFolder), 'application/gzip', describe(name)),
    ),
    readDownload(new URL('openapi.v1.json', schemaFolder), 'application/json', 'REST v1 as OpenAPI 3.1.'),
    readDownload(
      new URL('voucher-gateway.postman_collection.json', schemaFolder),
      'application/json',
      'REST v1 for Postman.',
    ),
    readDownload(new URL('schema.graphql', schemaFolder), 'application/graphql', 'The GraphQL schema.'),
  ]
}

/** Reads a file. @param type the media type of the file @returns the file with its SHA-256, in hexadecimal */
function readDownload(file: URL, type: string, description: string) {
  const content = readFileSync(file)
  const name = file.pathname.replace(/^.*\//, '')
  return { name, description, type, content, checksum: createHash('sha256').update(content).digest('hex') }
}

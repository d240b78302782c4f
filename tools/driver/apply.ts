/**
 * Builds the patched driver for the service and for the sync: copies postgres.js from `node_modules` to `dist/postgres`
 * of both, and applies the patches. `#postgres` resolves to that copy (package.json, `imports`).
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { applyPatch, parsePatch } from 'diff'
import { hashDirectory, patchedDigest } from '../../src/db/connection/driver.ts'

const source = new URL('.', import.meta.resolve('postgres'))
const targets = ['../../dist/postgres/', '../../packages/sync/dist/postgres/'].map(
  path => new URL(path, import.meta.url),
)
const patches = new URL('patches/', import.meta.url)

// A running service may be reading these files, so files that are already patched are not written again.
for (const target of targets) if (hashDirectory(target) !== patchedDigest) build(target)

function build(target: URL): void {
  const files = patchedFiles()
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  for (const [name, text] of files) writeFileSync(new URL(name, target), text)
  const digest = hashDirectory(target)
  if (digest !== patchedDigest) {
    throw new Error(
      `The patched driver has the digest ${digest}, not the one in src/db/connection/driver.ts. ` +
        'If a patch or the version of postgres was changed: write this digest there, and run tools/driver/prove.',
    )
  }
}

/** Returns the patched files by name. @throws when patches do not apply; the message names all of them */
function patchedFiles(): Map<string, string> {
  const files = new Map(readdirSync(source).map(name => [name, readFileSync(new URL(name, source), 'utf8')]))
  const unfit = new Set<string>()
  for (const file of readdirSync(patches).sort()) {
    for (const patch of parsePatch(readFileSync(new URL(file, patches), 'utf8'))) {
      const name = patch.newFileName?.replace('b/src/', '') ?? ''
      const text = applyPatch(files.get(name) ?? '', patch)
      if (text === false) unfit.add(file)
      else files.set(name, text)
    }
  }
  if (unfit.size === 0) return files
  throw new Error(
    `These patches do not apply to the installed postgres package: ${[...unfit].join(', ')}. ` +
      'Run npm ci. If package.json has a new version of postgres: tools/driver/README.md says how to take it.',
  )
}

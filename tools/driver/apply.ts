/**
 * Builds the patched driver for the service and for the sync: copies postgres.js from `node_modules` to `dist/postgres` of
 * each, and applies the patch. `#postgres` resolves to that copy (package.json, `imports`).
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { applyPatch, parsePatch } from 'diff'
import { hashDirectory, patchedDigest } from '../../src/db/connection/driver.ts'

const source = new URL('.', import.meta.resolve('postgres'))
const targets = ['../../dist/postgres/', '../../packages/sync/dist/postgres/'].map(
  path => new URL(path, import.meta.url),
)
const patchFile = 'postgres+3.4.9.patch'

// A running service may be reading these files, so patched ones are not written again.
for (const target of targets) if (hashDirectory(target) !== patchedDigest) build(target)

function build(target: URL): void {
  const patches = new Map(
    parsePatch(readFileSync(new URL(patchFile, import.meta.url), 'utf8')).map(patch => [patch.newFileName, patch]),
  )
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  for (const name of readdirSync(source)) {
    const original = readFileSync(new URL(name, source), 'utf8')
    const patch = patches.get(`b/src/${name}`)
    const text = patch ? applyPatch(original, patch) : original
    if (text === false)
      throw new Error(`${patchFile} does not fit src/${name} of the installed postgres package. Run: npm ci`)
    writeFileSync(new URL(name, target), text)
  }
  const digest = hashDirectory(target)
  if (digest !== patchedDigest) {
    throw new Error(
      `The patched driver has the digest ${digest}, not the one in src/db/connection/driver.ts. ` +
        'If the patch or the version of postgres was changed: write this digest there, and run test/db/patches.test.ts.',
    )
  }
}

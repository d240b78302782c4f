/**
 * Bundles the command `sync` with all its dependencies except the driver, collects the licenses of the bundled
 * packages, and adds the manual.
 */
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const target = 'packages/sync/dist'
const isBuiltFile = (name: string) => name.endsWith('.js') || name === 'licenses.txt'

// The names of chunks have hashes: old chunks of a former build would also be packed.
for (const name of readdirSync(target).filter(isBuiltFile)) rmSync(join(target, name))
const { metafile } = await build({
  entryPoints: ['packages/sync/src/main.ts'],
  bundle: true,
  splitting: true,
  outdir: target,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  external: ['#postgres'],
  // CommonJS packages in the bundle call `require` for modules of Node.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  metafile: true,
  logLevel: 'warning',
})

const packages = new Set(
  Object.keys(metafile.inputs).flatMap(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
)
const licenses = [...packages].sort().map(path => {
  const file = readdirSync(path).find(name => /^licen[cs]e/i.test(name))
  if (!file) throw new Error(`${path} has no license, which the bundle would have to include.`)
  return `${path.replace(/^.*node_modules\//, '')}\n\n${readFileSync(join(path, file), 'utf8')}`
})
writeFileSync(join(target, 'licenses.txt'), licenses.join('\n---\n\n'))
copyFileSync('docs/guides/sync.md', join(target, 'manual.md'))

/**
 * Prints the parts of the build that are not up to date: `node tools/changed-parts.mjs driver client`.
 *
 * The stamp of a part, `dist/.built/<part>`, is a digest of its inputs. The script removes the stamps of the printed
 * parts, and writes new ones under other names. tools/build renames each stamp when its part is built, so a build that
 * was killed is repeated.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The inputs of every part: the tools, the settings and the installed packages. */
const common = [
  ...['tools', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'packages/tsconfig.json'],
  'node_modules/.package-lock.json',
]
const all = ['src', 'packages', 'docs', 'schema', 'LICENSE', 'CHANGELOG.md']

/** The inputs and an output of each part. */
const parts = {
  driver: { inputs: ['src/db/connection/driver.ts'], output: 'packages/sync/dist/postgres' },
  client: { inputs: ['packages/client'], output: 'packages/client/dist' },
  sync: { inputs: ['packages/sync', 'packages/client', 'docs/guides/sync.md'], output: 'packages/sync/dist/main.js' },
  demo: {
    inputs: ['packages/demo', 'docs/samples/redeeming', 'src/db/connection/driver.ts'],
    output: 'dist/demo-data',
  },
  charts: { inputs: ['packages/charts'], output: 'dist/charts' },
  embedded: { inputs: ['packages/embedded'], output: 'dist/embedded' },
  service: { inputs: ['src', 'packages'], output: 'dist/main.js' },
  documents: { inputs: ['src/rest'], output: 'dist/rest' },
  pages: { inputs: ['packages'], output: 'dist/assets' },
  guides: { inputs: all, output: 'dist/docs/guides.json' },
  downloads: { inputs: all, output: 'dist/docs/downloads' },
}
const stamps = 'dist/.built'

/** Lists the files below a path with their times and sizes. A checkout of another branch changes the times. */
function listFiles(path) {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats?.isDirectory()) return [`${path} ${stats?.mtimeMs} ${stats?.size}`]
  const names = readdirSync(path).filter(name => name !== 'node_modules' && name !== 'dist')
  return names.sort().flatMap(name => listFiles(join(path, name)))
}

const read = path => (existsSync(path) ? readFileSync(path, 'utf8') : '')

try {
  for (const part of process.argv.slice(2)) {
    const { inputs, output } = parts[part] ?? {}
    if (!inputs) throw new Error(`There is no part ${part}. The parts are ${Object.keys(parts).join(', ')}.`)
    const digest = createHash('sha1')
      .update([...common, ...inputs].flatMap(listFiles).join('\n'))
      .digest('hex')
    const stamp = join(stamps, part)
    if (read(stamp) === digest && existsSync(output)) continue
    mkdirSync(stamps, { recursive: true })
    rmSync(stamp, { force: true })
    writeFileSync(`${stamp}.new`, digest)
    console.log(part)
  }
} catch (error) {
  const readOnly = ['EROFS', 'EACCES', 'EPERM'].includes(error.code)
  console.error(
    readOnly
      ? `The build writes to dist and packages/*/dist, and this user cannot write to ${process.cwd()}. ` +
          'Build in a copy that can be written, for example: cp -R . ~/voucher-gateway'
      : error.message,
  )
  process.exitCode = 1
}

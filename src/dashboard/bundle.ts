import { fileURLToPath } from 'node:url'

/** The files of the dashboard that the browser loads. */
export const fileNames = ['dashboard.js', 'dashboard.css'] as const

/** The name of a file of the dashboard. */
export type FileName = (typeof fileNames)[number]

/** The texts of the files. */
export type Files = Record<FileName, string>

const client = fileURLToPath(new URL('./client/', import.meta.url))

/**
 * Bundles the sources of `client/`, as `npm run build` does.
 *
 * @throws Error when a source does not compile
 */
export async function bundleClient(): Promise<Files> {
  // A development dependency: an installed service has the bundles.
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    absWorkingDir: client,
    entryPoints: { dashboard: 'index.tsx', 'dashboard-style': 'dashboard.css' },
    bundle: true,
    minify: true,
    write: false,
    outdir: '.',
    // The page loads it too: both have to share one instance.
    external: ['/assets/site.js'],
    format: 'esm',
    target: ['es2022'],
    legalComments: 'none',
    logLevel: 'silent',
  })
  const textOf = (name: string) => {
    const file = outputFiles.find(({ path }) => path.endsWith(`/${name}`))
    if (!file) throw new Error(`The bundle has no ${name}.`)
    return file.text
  }
  return { 'dashboard.js': textOf('dashboard.js'), 'dashboard.css': textOf('dashboard-style.css') }
}

// `npm run build -- dashboard`: writes the files of the dashboard to `dist/dashboard/assets`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { bundleClient, fileNames } from './bundle.ts'

const folder = new URL('../../dist/dashboard/assets/', import.meta.url)
const files = await bundleClient()
mkdirSync(folder, { recursive: true })
for (const name of fileNames) writeFileSync(new URL(name, folder), files[name])

// Renders the guides as HTML, to `dist/docs/guides.json`.
import { writeFileSync } from 'node:fs'
import { guides } from '../../src/docs/guides.ts'
import { readGuide, renderGuide } from './markdown.ts'

const rendered = guides.map(guide => [guide.slug, renderGuide(readGuide(guide))])
writeFileSync(new URL('../../dist/docs/guides.json', import.meta.url), JSON.stringify(Object.fromEntries(rendered)))

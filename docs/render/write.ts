// Renders the guides as HTML, to `dist/docs/guides.json`, and writes the index of the search, `dist/docs/search.json`.
import { writeFileSync } from 'node:fs'
import { guides } from '../../src/docs/guides.ts'
import { indexSections } from '../../src/docs/search.ts'
import { readGuide, renderGuide, sectionsOf } from './markdown.ts'

const texts = guides.map(guide => ({ guide, text: readGuide(guide) }))
const rendered = texts.map(({ guide, text }) => [guide.slug, renderGuide(text)])
const write = (name: string, text: string) => writeFileSync(new URL(`../../dist/docs/${name}`, import.meta.url), text)
write('guides.json', JSON.stringify(Object.fromEntries(rendered)))
write('search.json', indexSections(texts.flatMap(({ guide, text }) => sectionsOf(guide, text))))

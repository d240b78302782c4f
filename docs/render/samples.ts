// The samples of the guides: `docs/samples/<guide>/<name>.<extension>`, each in four languages. A test runs all
// samples.

import { readFileSync } from 'node:fs'
import { escapeHtml, highlight } from './highlight.ts'

/** The languages of the samples, in the order in which they are shown. */
export const sampleLanguages = [
  { extension: 'sh', label: 'curl', language: 'bash' },
  // A `.mts` file is a module, whatever `type` the reader's package.json has.
  { extension: 'mts', label: 'TypeScript', language: 'typescript' },
  { extension: 'py', label: 'Python', language: 'python' },
  { extension: 'php', label: 'PHP', language: 'php' },
] as const

const folder = new URL('../../docs/samples/', import.meta.url)

/**
 * Returns the HTML of a sample: a block for each language, of which `packages/pages/src/guides.js` shows one at a time.
 *
 * @param name the folder and the name of the sample: `paging/all-pages`
 * @throws Error when a file is missing
 */
export function renderSamples(name: string): string {
  const blocks = sampleLanguages.map(({ extension, label, language }) => {
    const text = readFileSync(new URL(`${name}.${extension}`, folder), 'utf8')
    return `<section class="sample" data-language="${extension}" data-label="${label}" aria-label="${label}"><p class="sample-label">${label}</p>${renderCode(text, language)}</section>`
  })
  return `<div class="samples" id="${escapeHtml(name.replace('/', '-'))}">${blocks.join('')}</div>\n`
}

/** Returns the HTML of a block of code; `packages/pages/src/copy.js` shows the button that copies it. */
export const renderCode = (text: string, language: string): string =>
  `<div class="code"><pre><code>${highlight(text.trimEnd(), language)}</code></pre><button type="button" class="copy secondary small" data-copy hidden>Copy</button></div>\n`

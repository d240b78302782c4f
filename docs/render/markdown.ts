import { readFileSync } from 'node:fs'
import markdownIt, { type Token } from 'markdown-it'
import type { Guide, RenderedGuide } from '../../src/docs/guides.ts'
import { renderCode, renderSamples } from './samples.ts'

// HTML in a guide is shown as text.
const markdown = markdownIt({ html: false })

markdown.renderer.rules.fence = (tokens, index) => {
  const { info, content } = tokens[index]!
  return info.trim() === 'samples' ? renderSamples(content.trim()) : renderCode(content, info.trim())
}

markdown.renderer.rules.heading_open = (tokens, index) => {
  const { tag } = tokens[index]!
  return tag === 'h1' ? '<h1>' : `<${tag} id="${toId(textOf(tokens[index + 1]!))}">`
}

markdown.renderer.rules.heading_close = (tokens, index) => {
  const { tag } = tokens[index]!
  if (tag === 'h1') return '</h1>\n'
  const text = textOf(tokens[index - 1]!)
  const label = markdown.utils.escapeHtml(`Link to “${text}”`)
  return ` <a class="anchor" href="#${toId(text)}" aria-label="${label}">#</a></${tag}>\n`
}

// A wide table scrolls by itself, so that the page does not.
markdown.renderer.rules.table_open = () => '<div class="scroll"><table>\n'
markdown.renderer.rules.table_close = () => '</table></div>\n'

const textOf = ({ children }: Token): string => (children ?? []).map(({ content }) => content).join('')

const toId = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')

/** Returns the Markdown of a guide. */
export const readGuide = ({ slug }: Guide): string =>
  readFileSync(new URL(`../../docs/guides/${slug}.md`, import.meta.url), 'utf8')

/** Renders Markdown as HTML. The samples that a block of the language `samples` names take its place. */
export function renderGuide(text: string): RenderedGuide {
  const tokens = markdown.parse(text, {})
  const headings = tokens.flatMap(({ type, tag }, index) => {
    if (type !== 'heading_open' || tag !== 'h2') return []
    const heading = textOf(tokens[index + 1]!)
    return [{ id: toId(heading), text: heading }]
  })
  return { html: markdown.renderer.render(tokens, markdown.options, {}), headings }
}

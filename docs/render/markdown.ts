import { readFileSync } from 'node:fs'
import markdownIt, { type Token } from 'markdown-it'
import type { Guide, RenderedGuide } from '../../src/docs/guides.ts'
import type { Section } from '../../src/docs/search.ts'
import { renderCode, renderSamples } from './samples.ts'
import { describeFields, describeTypes } from './schemas.ts'

// HTML in a guide is shown as text.
const markdown = markdownIt({ html: false })

markdown.renderer.rules.fence = (tokens, index) => {
  const { info, content } = tokens[index]!
  return info.trim() === 'samples' ? renderSamples(content.trim()) : renderCode(content, info.trim())
}

// Headings below the first have ids. The id of a second heading with the same text ends in `-2`.
markdown.core.ruler.push('heading_ids', ({ tokens }) => {
  const counts = new Map<string, number>()
  tokens.forEach((token, index) => {
    if (token.type !== 'heading_open' || token.tag === 'h1') return
    const id = toId(textOf(tokens[index + 1]!))
    const count = (counts.get(id) ?? 0) + 1
    counts.set(id, count)
    token.attrSet('id', count === 1 ? id : `${id}-${count}`)
  })
})

markdown.renderer.rules.heading_close = (tokens, index) => {
  const { tag } = tokens[index]!
  if (tag === 'h1') return '</h1>\n'
  const label = markdown.utils.escapeHtml(`Link to “${textOf(tokens[index - 1]!)}”`)
  return ` <a class="anchor" href="#${tokens[index - 2]!.attrGet('id')}" aria-label="${label}">#</a></${tag}>\n`
}

// A wide table scrolls separately, so that the page does not scroll sideways.
markdown.renderer.rules.table_open = () => '<div class="scroll"><table>\n'
markdown.renderer.rules.table_close = () => '</table></div>\n'

/** Returns the text of an inline token; a line break of the source is a space. */
const textOf = ({ children }: Token): string =>
  (children ?? []).map(({ type, content }) => (type === 'softbreak' ? ' ' : content)).join('')

const toId = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

/** The guides without a file in `docs/guides`, each with the function that returns its Markdown. */
const generatedGuides: Record<string, () => string> = {
  fields: describeFields,
  'graphql-types': describeTypes,
  changelog: () => read('../../CHANGELOG.md'),
}

/**
 * Returns the Markdown of a guide. A link to a file of the repository leads to the page of the file, or becomes plain
 * text.
 */
export const readGuide = ({ slug }: Guide): string =>
  (generatedGuides[slug]?.() ?? read(`../guides/${slug}.md`))
    .replaceAll(/\]\(docs\/guides\/([\w-]+)\.md/g, '](/docs/$1')
    .replaceAll(/\[([^\]]*)\]\((?!https?:|\/|#)[^)]*\)/g, '$1')

/** Renders Markdown as HTML. Each block of the language `samples` is replaced by the samples that it names. */
export function renderGuide(text: string): RenderedGuide {
  const tokens = markdown.parse(text, {})
  const headings = tokens.flatMap((token, index) =>
    token.type === 'heading_open' && token.tag === 'h2'
      ? [{ id: String(token.attrGet('id')), text: textOf(tokens[index + 1]!) }]
      : [],
  )
  return { html: markdown.renderer.render(tokens, markdown.options, {}), headings }
}

/** Returns the parts of a guide, for the search. @param text its Markdown */
export function sectionsOf({ slug, title }: Guide, text: string): Section[] {
  const sections: Section[] = []
  markdown.parse(text, {}).forEach((token, index, tokens) => {
    if (token.type === 'heading_open') {
      const anchor = token.attrGet('id')
      const id = anchor === null ? slug : `${slug}#${anchor}`
      sections.push({ id, guide: title, heading: textOf(tokens[index + 1]!), text: '' })
    } else if (token.type === 'inline' && tokens[index - 1]!.type !== 'heading_open') {
      const section = sections.at(-1)
      if (section) section.text = `${section.text} ${textOf(token)}`.trim()
    }
  })
  return sections
}

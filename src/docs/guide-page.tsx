import { docsPath } from '../http/paths.ts'
import type { Site } from '../pages/site.ts'
import { type Guide, guides, type Heading, type RenderedGuide } from './guides.ts'
import { TextPage } from './layout.tsx'

/** The page of a guide: its text, its table of contents, and links to the guides before and after it. */
export function GuidePage({ guide, rendered, site }: { guide: Guide; rendered: RenderedGuide; site: Site }) {
  const index = guides.indexOf(guide)
  return (
    <TextPage
      title={guide.title}
      description={guide.summary}
      site={site}
      current={guide.slug}
      aside={<Contents headings={rendered.headings} />}
    >
      <article dangerouslySetInnerHTML={{ __html: rendered.html }} />
      <nav class="neighbours" aria-label="Previous and next guide">
        <Neighbour label="Previous" guide={guides[index - 1]} />
        <Neighbour label="Next" guide={guides[index + 1]} />
      </nav>
    </TextPage>
  )
}

function Neighbour({ label, guide }: { label: string; guide: Guide | undefined }) {
  if (!guide) return null
  return (
    <a class={`card ${label.toLowerCase()}`} href={`${docsPath}/${guide.slug}`}>
      <small>{label}</small>
      {guide.title}
    </a>
  )
}

function Contents({ headings }: { headings: Heading[] }) {
  return (
    <nav class="contents" aria-labelledby="contents-title">
      <p id="contents-title">On this page</p>
      <ul class="plain">
        {headings.map(({ id, text }) => (
          <li>
            <a href={`#${id}`}>{text}</a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

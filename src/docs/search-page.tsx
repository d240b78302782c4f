import type { Site } from '../pages/site.ts'
import { docsSearchPath, TextPage } from './layout.tsx'
import type { Match } from './search.ts'

/** The page at `/docs/search`: the sections that contain the words of a query. The field stands at the left of the text. */
export const SearchPage = ({ query, matches, site }: { query: string; matches: readonly Match[]; site: Site }) => (
  <TextPage title="Search" {...{ site, query }} current={docsSearchPath}>
    <h1>Search</h1>
    <p role="status">
      {query === '' ? 'Type words to find in the guides.' : `Sections with “${query}”: ${matches.length || 'none'}.`}
    </p>
    <ul class="links">
      {matches.map(({ address, title, excerpt }) => (
        <li class="card">
          <a href={address}>{title}</a>
          <p>{excerpt}</p>
        </li>
      ))}
    </ul>
  </TextPage>
)

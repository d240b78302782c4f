import type { Site } from '../pages/site.ts'
import { type Download, downloadsPath } from './downloads.ts'
import { originPlaceholder } from './guides.ts'
import { TextPage } from './layout.tsx'

/** The page at `/docs/downloads`: the files, with their checksums. */
export function DownloadsPage({ downloads, site }: { downloads: readonly Download[]; site: Site }) {
  return (
    <TextPage title="Downloads" site={site} current={downloadsPath}>
      <article>
        <h1>Downloads</h1>
        <p>These files belong to the version of the service that runs here.</p>
        {downloads.map(({ name, description, content, checksum }) => (
          <>
            <h2 id={name}>
              <a href={`${downloadsPath}/${name}`} download={name}>
                {name}
              </a>
            </h2>
            <p>
              {description} {Math.ceil(content.length / 1024)} KB.
            </p>
            <div class="code">
              <pre>
                <code>{`curl -O ${originPlaceholder}${downloadsPath}/${name}\necho '${checksum}  ${name}' | sha256sum -c`}</code>
              </pre>
              <button type="button" class="copy secondary small" data-copy hidden>
                Copy
              </button>
            </div>
          </>
        ))}
      </article>
    </TextPage>
  )
}

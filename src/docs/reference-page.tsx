import { assetsPath, docsPath, openApiPath } from '../http/paths.ts'
import type { Site } from '../pages/site.ts'
import { Frame } from './layout.tsx'

/** The page at `/docs/reference`: Scalar, which `reference.js` starts. */
export function ReferencePage({ site }: { site: Site }) {
  const head = (
    <>
      <link rel="stylesheet" href={`${assetsPath}/reference.css`} />
      <script src={`${assetsPath}/scalar.js`} defer />
      <script src={`${assetsPath}/reference.js`} type="module" />
    </>
  )
  return (
    <Frame title="API reference · Voucher Gateway" section="reference" site={site} head={head}>
      <div id="main" data-document={openApiPath}>
        <noscript>
          <p class="no-script">
            The reference needs JavaScript. Without it, read the <a href={openApiPath}>OpenAPI document</a> or the{' '}
            <a href={docsPath}>guides</a>.
          </p>
        </noscript>
      </div>
    </Frame>
  )
}

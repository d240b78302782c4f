import { assetsPath, docsPath, openApiPath } from '../http/paths.ts'
import type { Site } from '../pages/site.ts'
import { Frame } from './layout.tsx'

/** The page at `/docs/reference`: Scalar, which `reference.js` starts. */
export const ReferencePage = ({ site }: { site: Site }) => (
  <Frame
    title="API reference · Voucher Gateway"
    section="reference"
    site={site}
    styles={['reference']}
    modules={['reference']}
    head={<script src={`${assetsPath}/scalar.js`} defer />}
  >
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

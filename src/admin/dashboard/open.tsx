// Opens the dashboard with a token that is made for the administrator.
import type { FastifyReply } from 'fastify'
import { createDashboardToken, dashboardHours } from '../../domain/access/dashboard-token.ts'
import { adminPath, assetsPath, dashboardPath } from '../../http/paths.ts'
import { FieldGroup, IdempotencyField, readIdempotencyKey } from '../components/field.tsx'
import { Layout } from '../components/layout.tsx'
import { actorOf, type Handler, redirectWithFlash, sendPage } from '../context.ts'
import { findForm, formBody } from '../form-body.ts'
import { loadPicker, readPicker } from '../tenant-picker/state.ts'
import { PickerForm, TenantPicker } from '../tenant-picker/tenant-picker.tsx'
import { tokensPath } from '../tokens/parts.tsx'

const path = `${adminPath}/dashboard`

/** GET /admin/dashboard */
export const showOpenDashboard: Handler = async ({ sql }, request, reply) => {
  const form = findForm(request)
  return sendPage(
    reply,
    <Layout title="Open the dashboard" section="dashboard" narrow>
      <p>
        The dashboard shows sales, balances and vouchers. It reads them with a token that is made for you: it only
        reads, it ends when you sign out and after {dashboardHours} hours at the latest, and it is among the{' '}
        <a href={tokensPath}>tokens</a>, where it can be revoked before.
      </p>
      <PickerForm path={path} submitLabel="Open the dashboard">
        <IdempotencyField />
        <FieldGroup legend="Permissions">
          <div class="option">
            <input
              type="checkbox"
              id="marketing"
              name="marketing"
              value="yes"
              checked={form !== null && includesMarketing(form)}
            />
            <label for="marketing">
              Include figures of marketing
              <span class="hint">
                The token may then read the personal data of customers who opted in to marketing.
              </span>
            </label>
          </div>
        </FieldGroup>
        <details open={form !== null}>
          <summary>Only some tenants: without a choice, the dashboard shows all of them</summary>
          <TenantPicker picker={await loadPicker(sql, form)} />
        </details>
        <p>
          <button type="submit">Open the dashboard</button>
        </p>
      </PickerForm>
    </Layout>,
  )
}

/**
 * POST /admin/dashboard: creates a token, and answers with a page that opens the dashboard with this token. Redirects
 * to a new form when the same form has already created its token.
 */
export const openDashboard: Handler = async (context, request, reply) => {
  const form = formBody(request)
  const { state, save } = readPicker(form)
  if (!save) return showOpenDashboard(context, request, reply)
  const { secret } = await createDashboardToken(
    context.sql,
    actorOf(request),
    {
      sessionId: request.session.sessionId,
      tenants: state.grants,
      includesMarketing: includesMarketing(form),
      defaultRate: context.config.rateLimitPerMinute,
    },
    readIdempotencyKey(form),
  )
  return secret === null ? redirectWithFlash(reply, path, alreadyOpenedMessage) : sendToken(reply, secret)
}

const alreadyOpenedMessage =
  'This form has already opened the dashboard. Its token cannot be shown again: open the dashboard once more for a new one.'

/** Returns whether the token may read personal data, which the figures of marketing need. */
const includesMarketing = (form: URLSearchParams) => form.get('marketing') === 'yes'

/**
 * Answers with a page whose script stores the token for the browser tab, and replaces this page by the dashboard: the
 * token is in no address, no cache and no history.
 */
const sendToken = (reply: FastifyReply, secret: string) =>
  sendPage(
    reply.code(201),
    <Layout title="Opening the dashboard" section="dashboard" narrow>
      <p id="hand-over" data-token={secret} data-path={dashboardPath} role="status">
        The dashboard opens …
      </p>
      <noscript>
        <p class="warning">The dashboard needs JavaScript. Allow it for this site, then open the dashboard again.</p>
      </noscript>
      <script src={`${assetsPath}/open-dashboard.js`} type="module" />
    </Layout>,
  )

import { sendFragment } from '../../pages/html-page.tsx'
import { formatCount } from '../components/format.tsx'
import type { Handler } from '../context.ts'
import { formBody } from '../form-body.ts'
import { ChosenTenants, describeResults, Results } from './lists.tsx'
import { loadPicker } from './load.ts'

/** POST /admin/tenants: the lists of a tenant picker after one of its buttons, for its script */
export const showLists: Handler = async ({ sql }, request, reply) => {
  const body = formBody(request)
  const picker = await loadPicker(sql, body)
  const isSearch = /^(find|below)/.test(body.get('do') ?? '')
  const status = isSearch ? describeResults(picker) : `Chosen tenants: ${formatCount(picker.chosen.length)}.`
  return sendFragment(
    reply,
    <div data-status={status}>
      <Results {...picker} />
      <ChosenTenants {...picker} />
    </div>,
  )
}

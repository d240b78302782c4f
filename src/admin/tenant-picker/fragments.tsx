// The parts of the tenant picker that its script loads.
import { notFound } from '../../domain/errors.ts'
import { listTreeChildren, placeTenants } from '../../domain/tenant/tree.ts'
import { parseIdentifier } from '../../domain/value/identifier.ts'
import { sendFragment } from '../../pages/html-page.tsx'
import { formatCount } from '../components/format.tsx'
import type { Handler } from '../context.ts'
import { formBody, queryParameters } from '../form-body.ts'
import { ChosenTenants, describeMatches, SearchMatches } from './lists.tsx'
import { loadLists } from './load.ts'
import { levelLength, parseParent, readPicker } from './state.ts'
import { Level } from './tree.tsx'

/** GET /admin/tenants?below=7&after=12: a part of the tenants directly below one, or of `all` without a parent */
export const showLevel: Handler = async ({ sql }, request, reply) => {
  const query = queryParameters(request)
  const parentId = parseParent(query.get('below') ?? '')
  if (parentId === undefined) throw notFound('tenant')
  const afterId = parseIdentifier(query.get('after') ?? '')
  const [levels, [parent = null]] = await Promise.all([
    listTreeChildren(sql, [{ parentId, afterId, size: levelLength }]),
    parentId === null ? [] : placeTenants(sql, [parentId]),
  ])
  if (parentId !== null && !parent) throw notFound('tenant')
  const { tenants, more } = levels.get(parentId) ?? { tenants: [], more: 0 }
  const place = parent ? `below ${parent.name}` : 'without one above'
  const loaded = tenants.length === 1 ? 'One tenant' : `${formatCount(tenants.length)} tenants`
  const status = `${loaded} ${place} loaded, ${more === 0 ? 'the last' : `${formatCount(more)} more to show`}.`
  return sendFragment(reply, <Level levels={levels} parent={parent} chosen={new Set()} status={status} />)
}

/** POST /admin/tenants: the lists of the chosen and of the found tenants after a button of the picker */
export const showLists: Handler = async ({ sql }, request, reply) => {
  const body = formBody(request)
  const { state } = readPicker(body)
  const lists = await loadLists(sql, state)
  const { chosen, searched, matches } = lists
  const isSearch = body.get('do') === 'find' && matches
  const status = isSearch ? describeMatches(searched, matches) : `Chosen tenants: ${formatCount(chosen.length)}.`
  return sendFragment(
    reply,
    <div data-status={status}>
      <ChosenTenants chosen={chosen} />
      <SearchMatches {...lists} />
    </div>,
  )
}

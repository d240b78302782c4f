import type { TenantLabel, TreeChildren } from '../../domain/tenant/tree.ts'
import { formatCount } from '../components/format.tsx'
import { PickBox, TenantName } from './parts.tsx'
import { levelLength, levelPath, parentText } from './state.ts'

interface LevelProps {
  levels: Map<number | null, TreeChildren>
  /** Null: the tenants without a parent. */
  parent: TenantLabel | null
  chosen: ReadonlySet<number>
  /** The text that the script announces when it has loaded the level. */
  status?: string
}

/** The shown part of a level, with the opened levels below it. */
export function Level({ levels, parent, chosen, status }: LevelProps) {
  const { tenants, more } = levels.get(parent?.id ?? null) ?? { tenants: [], more: 0 }
  if (!parent && tenants.length === 0) return <p class="muted">There are no tenants yet: the platform creates them.</p>
  return (
    <ul
      class={parent ? 'level' : 'level tree'}
      aria-label={parent ? `Below ${parent.name}` : 'All tenants'}
      data-parent={parentText(parent?.id ?? null)}
      data-status={status}
    >
      {tenants.map(tenant => (
        <li id={`node-${tenant.id}`}>
          <div class="tree-node">
            {tenant.hasChildren && (
              <button
                type="submit"
                name="do"
                value={`toggle:${tenant.id}`}
                class="disclose"
                formaction={`#node-${tenant.id}`}
                aria-label={`Below ${tenant.name}`}
                aria-expanded={levels.has(tenant.id)}
                data-level={levelPath(tenant.id)}
              />
            )}
            <PickBox id={tenant.id} chosen={chosen}>
              <TenantName tenant={tenant} />
            </PickBox>
          </div>
          {levels.has(tenant.id) && <Level levels={levels} parent={tenant} chosen={chosen} />}
        </li>
      ))}
      {more > 0 && <More parent={parent} more={more} last={tenants.at(-1)} />}
    </ul>
  )
}

function More({ parent, more, last }: { parent: TenantLabel | null; more: number; last: TenantLabel | undefined }) {
  const parentId = parent?.id ?? null
  const text = more > levelLength ? `Show ${levelLength} more of ${formatCount(more)}` : `Show ${more} more`
  return (
    <li class="more">
      <button
        type="submit"
        name="do"
        value={`more:${parentText(parentId)}`}
        class="secondary small"
        formaction={last && `#node-${last.id}`}
        aria-label={parent ? `${text} below ${parent.name}` : `${text} tenants`}
        data-level={levelPath(parentId, last?.id)}
      >
        {text}
      </button>
    </li>
  )
}

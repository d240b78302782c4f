import type { ComponentChildren } from 'preact'

/** A list of terms with their descriptions. Terms without a description are left out. */
export const Facts = ({ facts }: { facts: Record<string, ComponentChildren> }) => (
  <dl class="facts">
    {Object.entries(facts).map(
      ([name, description]) =>
        description && (
          <>
            <dt>{name}</dt>
            <dd>{description}</dd>
          </>
        ),
    )}
  </dl>
)

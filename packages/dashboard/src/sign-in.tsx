import { useState } from 'preact/hooks'
import { parseToken } from '/assets/site.js'
import { FieldError } from './placeholders.tsx'

interface SignInProps {
  /** The reason why the page asks for a token again, as a sentence; null at first. */
  reason: string | null
  onToken(token: string): void
  /** The address of the page on which an administrator opens the dashboard. */
  adminAddress: string
}

/** Asks for a token. */
export function SignIn({ reason, onToken, adminAddress }: SignInProps) {
  const [fault, setFault] = useState<string | null>(null)
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (!(event.currentTarget instanceof HTMLFormElement)) return
    const token = parseToken(String(new FormData(event.currentTarget).get('token') ?? ''))
    if (token === null) setFault('This is not a token: a token has no spaces, for example vgw_ and 49 more characters.')
    else onToken(token)
  }
  return (
    <main id="main" class="narrow">
      <h1>Dashboard</h1>
      {reason && (
        <p class="warning" role="alert">
          {reason}
        </p>
      )}
      <form class="card" onSubmit={submit} noValidate>
        <div class="field">
          <label for="token">Token</label>
          <p class="hint" id="token-hint">
            The dashboard shows what this token may read. GraphiQL and the reference also use it, until this browser tab
            is closed.
          </p>
          <FieldError id="token-error" text={fault} />
          <input
            id="token"
            name="token"
            type="password"
            autocomplete="off"
            spellcheck={false}
            required
            aria-invalid={fault !== null || undefined}
            aria-describedby={fault ? 'token-hint token-error' : 'token-hint'}
          />
        </div>
        <button type="submit">Show the dashboard</button>
      </form>
      <p>
        Administrators need no token: they <a href={adminAddress}>open the dashboard from API access</a>.
      </p>
    </main>
  )
}

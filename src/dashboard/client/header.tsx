import type { ComponentChildren } from 'preact'

interface HeaderProps {
  /** The address of the API access page. */
  adminAddress: string
  children?: ComponentChildren
}

/** The head of the page, with links to the other pages of the service. */
export const Header = ({ adminAddress, children }: HeaderProps) => (
  <>
    <a class="off-screen" href="#main">
      Skip to the content
    </a>
    <header class="site-header">
      <a class="brand" href="/">
        Voucher Gateway
      </a>
      <nav aria-label="Main">
        <a href="/dashboard" aria-current="page">
          Dashboard
        </a>
        <a href="/docs">Docs</a>
        <a href={adminAddress}>API access</a>
      </nav>
      {children}
    </header>
  </>
)

interface TokenStatusProps {
  /** Null while it is loaded. */
  name: string | null
  /** An instant, or null for a token without an end. */
  expiresAt: string | null
  onForget(): void
}

const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** The token of the session, and the button that forgets it. */
export const TokenStatus = ({ name, expiresAt, onForget }: TokenStatusProps) => (
  <div class="sign-out">
    <span class="signed-in-as">
      {name}
      {expiresAt && (
        <>
          , until <time datetime={expiresAt}>{timeFormat.format(new Date(expiresAt))}</time>
        </>
      )}
    </span>
    <button type="button" class="secondary small" onClick={onForget}>
      Forget the token
    </button>
  </div>
)

import { render } from 'preact'
import { useState } from 'preact/hooks'
import { forgetToken, readToken, storeToken } from '/assets/site.js'
import { Session } from './session.tsx'
import { SignIn } from './sign-in.tsx'

/** The root of the dashboard. Shows the form for a token, or the data that the token may read. */
function App({ adminAddress }: { adminAddress: string }) {
  const [token, setToken] = useState(readToken)
  const [reason, setReason] = useState<string | null>(null)
  const use = (next: string) => {
    storeToken(next)
    setReason(null)
    setToken(next)
  }
  const end = () => {
    forgetToken()
    setReason('This token is not valid any more: it is unknown, expired or revoked. Type another token.')
    setToken(null)
  }
  if (token === null) return <SignIn reason={reason} onToken={use} adminAddress={`${adminAddress}/dashboard`} />
  return <Session key={token} token={token} onEnd={end} />
}

const rootElement = document.getElementById('dashboard')
if (rootElement) render(<App adminAddress={rootElement.dataset.admin ?? ''} />, rootElement)

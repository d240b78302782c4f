import { useState } from 'preact/hooks'
import { Header } from './header.tsx'
import { Session } from './session.tsx'
import { SignIn } from './sign-in.tsx'
import { forgetToken, readToken, storeToken } from './token.ts'

/** The dashboard: it asks for a token, or shows what the token may read. */
export function App({ adminAddress }: { adminAddress: string }) {
  const [token, setToken] = useState(readToken)
  const [reason, setReason] = useState<string | null>(null)
  const use = (next: string) => {
    storeToken(next)
    setReason(null)
    setToken(next)
  }
  const end = (why: string | null) => {
    forgetToken()
    setReason(why)
    setToken(null)
  }
  if (token === null) {
    return (
      <>
        <Header adminAddress={adminAddress} />
        <SignIn reason={reason} onToken={use} adminAddress={`${adminAddress}/dashboard`} />
      </>
    )
  }
  return (
    <Session
      key={token}
      token={token}
      adminAddress={adminAddress}
      onEnd={() => end('This token is not valid any more: it is unknown, expired or revoked. Type another one.')}
      onForget={() => end(null)}
    />
  )
}

interface ButtonLinkProps {
  href: string
  label: string
  kind?: 'primary' | 'secondary' | 'danger'
}

/** A link that looks like a button. */
export const ButtonLink = ({ href, label, kind = 'secondary' }: ButtonLinkProps) => (
  <a class={`button ${kind}`} href={href}>
    {label}
  </a>
)

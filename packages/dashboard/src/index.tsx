import { render } from 'preact'
import { App } from './app.tsx'

const place = document.getElementById('dashboard')
if (place) render(<App adminAddress={place.dataset.admin ?? ''} />, place)

/** Settings of the installation, which the server writes into the page. */
export interface DashboardConfig {
  readonly product_name: string;
  /** Whether the page controls the simulated vehicles of a local start. */
  readonly has_demo_menu: boolean;
  readonly ws_url: string;
  readonly video_url: string;
}

function readConfig(): DashboardConfig {
  const text = document.getElementById('dashboard-config')?.textContent ?? '';
  // The development server does not replace the placeholder.
  if (text === '"__CONFIG__"')
    return { product_name: 'Fleet platform', has_demo_menu: false, ws_url: '', video_url: '' };
  return JSON.parse(text) as DashboardConfig;
}

export const config = readConfig();

/** Nonce of this response, which styles that are added later require. */
export const getNonce = (): string => document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';

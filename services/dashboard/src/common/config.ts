import type { components } from '@fleet/api-client';

/** Settings of the installation, which the server writes into the page. */
interface DashboardConfig {
  readonly product_name: string;
  /** Whether the page controls the simulated vehicles of a local start. */
  readonly has_demo_menu: boolean;
  readonly ws_url: string;
  readonly video_url: string;
  /** Base maps beside the offline map. */
  readonly map_sources: readonly components['schemas']['MapSource'][];
  /** Whether visitors may register an account. */
  readonly signup_enabled: boolean;
  /** Whether users can log in with a code by SMS. */
  readonly one_time_codes: boolean;
  /** Whether the installation sends invitations and reset links by mail. */
  readonly mail: boolean;
}

const developmentConfig: DashboardConfig = {
  product_name: 'Fleet platform',
  has_demo_menu: false,
  ws_url: '',
  video_url: '',
  map_sources: [],
  signup_enabled: false,
  one_time_codes: true,
  mail: true,
};

function readConfig(): DashboardConfig {
  const text = document.getElementById('dashboard-config')?.textContent ?? '';
  // The development server does not replace the placeholder.
  if (text === '"__CONFIG__"') return developmentConfig;
  return JSON.parse(text) as DashboardConfig;
}

export const config = readConfig();

/** Returns the nonce of this response, which styles that are added later require. */
export const getNonce = (): string => document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';

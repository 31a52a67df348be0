import { readMapSources } from '../../maps/map-sources.ts';
import type { Deps } from '../../platform/deps.ts';
import { websocketUrl } from '../last-positions/websocket-tokens.ts';
import type { DashboardConfig } from './schema.ts';

type ConfigDeps = Pick<Deps, 'config' | 'ownMessages'>;

/** Languages of the page, which the build contains. */
const languages = ['en', 'zh', 'es'] as const;

/** Returns the settings of the installation that its page reads. Nothing of them is secret. */
export const createDashboardConfig = ({ config, ownMessages }: ConfigDeps): DashboardConfig => ({
  product_name: config.PRODUCT_NAME,
  has_demo_menu: config.DEMO_MENU,
  ws_url: websocketUrl(config),
  video_url: config.VIDEO_BASE_URL,
  map_sources: [...readMapSources(config.MAP_SOURCES)],
  languages: [...languages],
  signup_enabled: config.SIGNUP_ENABLED,
  one_time_codes: config.SMS_PROVIDER !== 'log' || (ownMessages.delivers?.('sms') ?? true),
  mail: ownMessages.delivers?.('mail') ?? true,
});

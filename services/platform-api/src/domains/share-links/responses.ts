import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import type { LinkResponse, ShareLink } from './schema.ts';

export const toLinkResponse = (link: ShareLink, publicUrl: string): LinkResponse => ({
  ...toRecordResponse(link),
  slug: link.slug,
  url: `${publicUrl}/share/${link.slug}`,
  vehicle_id: link.vehicleId,
  label: link.label,
  permissions: [...link.permissions],
  history_minutes: link.historyMinutes,
  max_views: link.maxViews,
  has_password: link.passwordHash !== null,
  destination: link.destination,
  expires_at: link.expiresAt.toISOString(),
  revoked_at: formatTime(link.revokedAt),
  view_count: link.viewCount,
  last_viewed_at: formatTime(link.lastViewedAt),
});

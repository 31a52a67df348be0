/** Layers that users switch on and off. */
export const overlayNames = ['geofences', 'routes', 'labels'] as const;
export type OverlayName = (typeof overlayNames)[number];

import { Menu } from '@mantine/core';
import { IconFolders, IconId, IconPhoto, IconPolygon, IconRoute, IconRouter, IconShare } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { useTranslation } from 'react-i18next';
import type { MorePage } from './more-menu.tsx';

const icons = {
  media: IconPhoto,
  drivers: IconId,
  groups: IconFolders,
  geofences: IconPolygon,
  routes: IconRoute,
  sharing: IconShare,
  devices: IconRouter,
} as const satisfies Readonly<Record<MorePage, typeof IconId>>;

interface MorePagesProps {
  readonly pages: readonly { readonly name: MorePage; readonly path: string }[];
  /** The button that opens the menu. */
  readonly target: ReactElement;
}

/** Shows the menu of further pages. Opens as soon as it is loaded. */
export function MorePages({ pages, target }: MorePagesProps) {
  const { t } = useTranslation();
  return (
    <Menu defaultOpened position="right-start" withInitialFocusPlaceholder={false}>
      <Menu.Target>{target}</Menu.Target>
      <Menu.Dropdown>
        {pages.map(({ name, path }) => {
          const Icon = icons[name];
          return (
            <Menu.Item
              key={name}
              component={Link}
              to={path}
              leftSection={<Icon size={18} aria-hidden />}
              {...(name === 'media' ? { className: 'phone-only' } : {})}
            >
              {t(`palette.page.${name}`)}
            </Menu.Item>
          );
        })}
      </Menu.Dropdown>
    </Menu>
  );
}

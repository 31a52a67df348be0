import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';

interface PagesProps {
  /** The first page is 1. */
  readonly page: number;
  /** Number of rows on all pages. */
  readonly total: number;
  readonly pageSize: number;
  readonly onChange: (page: number) => void;
}

/** Shows buttons for the pages of a list, the newest first. Renders nothing for a single page. */
export function Pages({ page, total, pageSize, onChange }: PagesProps) {
  const { t } = useTranslation();
  const pages = Math.ceil(total / pageSize);
  if (pages <= 1) return null;
  return (
    <Group justify="center" gap="sm" p="sm">
      <Button size="compact-sm" variant="default" disabled={page === 1} onClick={() => onChange(page - 1)}>
        {t('pages.newer')}
      </Button>
      <span>{t('pages.page', { page, pages })}</span>
      <Button size="compact-sm" variant="default" disabled={page >= pages} onClick={() => onChange(page + 1)}>
        {t('pages.older')}
      </Button>
    </Group>
  );
}

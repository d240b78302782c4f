import type { Phrases } from './phrases.ts'

export const japanese: Phrases = {
  offerings: [
    {
      ...{ category: 'dining', slug: 'kaiseki', title: '季節の懐石料理', pounds: 78, by: 'people' },
      summary: '旬の食材を使った九品の懐石コースです。',
      includes: ['懐石九品', '食前酒', '個室（ご希望の方）'],
    },
    {
      ...{ category: 'dining', slug: 'lunch-bento', title: '昼の松花堂弁当', pounds: 24, by: 'people' },
      summary: '庭を眺めながら、ゆっくりと昼のひとときを。',
      includes: ['松花堂弁当', '抹茶と和菓子'],
    },
    {
      ...{ category: 'spa', slug: 'day-onsen', title: '日帰り温泉', pounds: 18, by: 'people' },
      summary: '源泉かけ流しの湯を一日お楽しみください。',
      includes: ['入浴（10時〜21時）', '手ぬぐい', '湯上がりの一杯'],
    },
    {
      ...{ category: 'spa', slug: 'shiatsu', title: '指圧 60分', pounds: 52 },
      summary: '旅の疲れをほぐす六十分。',
      includes: ['指圧60分', 'ハーブティー'],
    },
    {
      ...{ category: 'stay', slug: 'ryokan-stay', title: '一泊二食付きプラン', pounds: 210, by: 'nights' },
      summary: '露天風呂付き客室と、夕・朝のお食事。',
      includes: ['和室（二名様）', '夕食・朝食', '貸切風呂'],
    },
  ],
  themes: { '': '*', haru: '【春限定】*', momiji: '【紅葉】*', kinenbi: '【記念日】*', heijitsu: '【平日】*' },
  cards: { 'gift-card': 'ギフトカード', 'birthday-gift-card': 'お誕生日ギフトカード' },
  cardSummary: 'お食事にも、ご宿泊にもお使いいただけます。',
  cardIncludes: ['メールまたは封書でお届け', '残高の範囲で何度でも'],
  people: ['お一人様', 'お二人様', '四名様'],
  nights: ['一泊', '二泊', '三泊'],
  terms: ['要予約。', '年末年始は除外日となります。', '払い戻しはできません。'],
  redemption: ['ご到着の際にご提示ください。', 'ご予約時に番号をお知らせください。'],
  categories: { cards: 'ギフトカード', dining: 'お食事', spa: '温泉・スパ', stay: 'ご宿泊', season: '季節のおすすめ' },
}

"""The words of each domain of life (food, health, home …), and the kinds of facts that each domain needs.

The syntax of the words is described in `domains`.
"""

from __future__ import annotations

DOMAIN_WORDS = {
    "food": (
        "eat* food* cook* recipe* dinner* lunch* breakfast* brunch* snack* meal* menu* restaurant* "
        "cafe café bak* cake* bread* pancake* soup* dish dishes dessert* barbecue* bbq grill* "
        "ingredient* kitchen hungry supper picnic takeaway takeout groceries pizza* pasta* sushi "
        "curry noodle* rice salad* sandwich* burger* stew* sauce* spic* vegan* vegetarian* "
        "pescatarian* halal kosher gluten* lactose* dairy diet* keto mushroom* olive* cilantro "
        "coriander onion* garlic tomato* cucumber* beetroot* liver seafood shellfish shrimp* prawn* "
        "oyster* fish meat* beef pork chicken bacon cheese* egg eggs milk yoghurt yogurt butter nut "
        "nuts peanut* almond* hazelnut* walnut* sesame soy tofu wheat chocolate* licorice liquorice "
        "marzipan avocado* eggplant* aubergine* broccoli spinach chilli* chili* fruit* vegetable* "
        "sugar sweets candy coffee tea wine* beer* alcohol* cocktail* strawberr* banana* apples "
        "celery lentil* bean beans honey anise cinnamon coeliac celiac intoleran* essen *essen koch* "
        "rezept* *rezept abendbrot frühstück* backe* kuchen* brot *brot suppe* gericht* speise* "
        "vegetari* glutenfrei* laktose* pilz* zwiebel* knoblauch käse eier milch nüsse erdnuss* "
        "erdnüsse meeresfrüchte fisch fleisch* schwein* gemüse obst kaffee bier wein mahlzeit* "
        "manger mange cuisin* recette* dîner déjeuner repas plat plats végétari* végétali* végan* "
        "oignon* fromage* lait œuf* oeuf* arachide* cacahuète* noix poisson* viande* porc légume* "
        "goûter* gâteau* crêpe* comer comida* cocin* receta* cena* almuerzo* almorzar desayun* "
        "plato* menú cebolla* queso* leche huevo* cacahuete* maní nueces marisco* pescado* carne* "
        "cerdo verdura* aceituna* preparo@es postre* tarta* mangiare mangi* cucin* ricett* pranzo* "
        "colazion* piatto* piatti ristorant* formaggi* latte@it uova arachidi noci pesce carciofi "
        "verdur* dolce@it dolci cipoll* jantar* almoço* almoçar cozinh* receita* prato* refeiç* "
        "lanche* queijo* leite ovo ovos amendoi* nozes peixe* camarão sobremesa* bolo@pt 吃 饭 菜 食 "
        "餐 厨 煮 烤 面包 蛋糕 素食 花生 坚果 牛奶 海鲜 辣 咖啡 零食 potluck buffet starving "
        "order@en salmon tuna espresso roast drink* caffein* appetit* thai tapas lasagn* raisin* pea "
        "peas lettuce sausage* hunger hungrig bestellen trink* lecker zutat* nachtisch mittag* "
        "brötchen nudel* reis kartoffel* salat* hähnchen rind* eintopf auflauf vorspeise imbiss faim "
        "boire boisson* apéro apéritif pâtes riz@fr poulet bœuf pique-nique sucre cuire hambre beber "
        "bebida* arroz pollo ensalada* restaurante* merienda* horno pan@es pastel* ingrediente* fame "
        "bere bevand* antipast* riso insalat* merend* forno pane@it torta torte cenare cena@it fome "
        "frango salada* pão lanchar 喝 饿 外卖 甜点 汤 肉 鱼 虾 celiac* teas herbal peppermint mint* "
        "spinat* banan* tomat* avocad* chocolat* schokolade* cioccolat* pizz* broccol*"
    ),
    "health": (
        "health* ill illness* sick* disease* doctor* hospital* clinic* medicine* medication* medical "
        "pill pills tablet* ibuprofen aspirin paracetamol antibiotic* painkiller* headache* "
        "migraine* pain ache* fever flu cough* cold@ symptom* blood* allerg* asthma* diabet* "
        "insulin* epilep* arthritis anemia anaemia gout psoriasis eczema depress* anxiety therap* "
        "adhd autis* dyslexi* surgery injur* knee* pregnan* vaccin* dentist* tooth* teeth wheelchair "
        "deaf blind thyroid cholesterol heart rash* hypertension dizz* nausea* vitamin* dose dosage "
        "supplement* pharmac* gesund* krank* arzt ärzt* medikament* tablette* schmerz* *schmerzen "
        "fieber grippe erkält* husten blut* asthma zahnarzt* schwanger* impf* apotheke* santé malad* "
        "médecin* médicament* hôpital* douleur* fièvre toux asthme diabète enceinte pharmacie* salud "
        "enferm* médic* medicament* pastilla* dolor* fiebre gripe tos asma diabetes embaraz* vacun* "
        "farmacia* alergi* alérgi* migraña* salute malat* medic* farmac* dolore febbre influenza "
        "tosse diabete incinta allergi* emicrania saúde doen* remédio* dor@pt febre grávida alergia* "
        "enxaqueca* 病 药 医 疼 痛 发烧 感冒 过敏 糖尿 哮喘 健康 怀孕 panic stress* burnout disc "
        "vertigo lupus feet foot hip shoulder* ankle* wrist* spine throat sore antihistamin* pollen "
        "hay-fever hayfever colour-blind color-blind allergen* kopfweh rücken* übel* therapie* "
        "heuschnupfen herz* blutdruck verletz* weh@de mal@fr dos@fr thérap* cœur rhume duele espalda "
        "estrés corazón resfri* schiena cuore ferit* raffreddor* dói costas estresse coração 头疼 "
        "肚子 压力 手术 抑郁 焦虑 腰 ibuprofen* aspirin* paracetamol* antibiotik* antibiót* "
        "hipertens* ipertens* hypertens* arthros* artrit* artros* migrän* statin* scoliosis anaemi* "
        "anemi* sclerosis tinnitus stutter* thyroid* schilddrüse* thyroïd* tiroid*"
    ),
    "sport": (
        "sport* workout* exercis* training gym fitness running runner* jog* marathon* "
        "kilometres cycling bike* hike* hiking swim* yoga stretch* football soccer tennis basketball "
        "badminton climb* bouldering muscle* lift* ski skiing laufen@de joggen trainings* fahrrad* "
        "wandern schwimm* courir course@fr entraînement* musculation vélo randonnée* nager correr "
        "entren* gimnasio bicicleta* nadar allenament* palestra nuotare trein* academia corrida* "
        "运动 跑步 健身 锻炼 游泳"
    ),
    "sleep": (
        "sleep* asleep insomnia* tired* nap naps bedtime snor* awake caffein* coffee* nightmare* "
        "shifts schlaf* schläf* müde dormir sommeil insomni* fatigué* sueño cansad* dormo dormire "
        "sonno stanc* durmo sono@pt 睡 失眠 nachtschicht* nachts notturn* nocturn* noite@pt "
        "night-shift* newborn"
    ),
    "travel": (
        "travel* trip trips flight* flying fly flies airport* airline* hotel* hostel* holiday* "
        "vacation* itinerary passport* visa visas luggage suitcase* sightsee* abroad tourist* "
        "cruise* beach* trains roadtrip backpack* airbnb getaway passenger* reise* reisen *reise "
        "flug* flüge *urlaub urlaub* koffer flieg* strand voyag* vol vols avion* vacances valise* "
        "plage* séjour* viaj* vuelo* avión vacacion* maleta* playa* viagg* volo voli aereo vacanz* "
        "valigia spiagg* viag* voo voos avião férias mala@pt praia* 旅行 旅游 飞机 机票 酒店 度假 "
        "pack@en ferien ausflug zug@de bahn@de visum billet* passeport* escapade tren@es pasaporte "
        "escapada equipaje treno treni passaporto ferie gita trem@pt comboio passaporte 火车 护照 "
        "签证 假期 行李 rail railcard interrail jetlag jet-lag"
    ),
    "place": (
        "city town village neighbourhood neighborhood nearby near local weather umbrella rain "
        "raining rainy sunny forecast snow snowing sunset sunrise hometown district suburb* gym "
        "plumber* electrician* hairdresser* barber* dentist* mechanic* doctor* cinema* theatre* "
        "theater* museum* concert* market* restaurant* weekend* apartment* rent daylight temperature "
        "outside outdoors stadt dorf umgebung wetter regen* regnet nachbarschaft gegend sonntag "
        "wochenende* wohnort heimat* ville quartier météo pluie pleut parapluie environs week-end "
        "ciudad pueblo barrio tiempo@es lluvia llueve paraguas cerca alrededor* città quartiere "
        "paese@it piove pioggia ombrello vicino dintorni meteo cidade bairro chuva chove perto "
        "guarda-chuva arredores 城市 附近 天气 下雨 住的地方 这里 本地 周末 concerts draußen "
        "veranstaltung* friseur* werkstatt ici@fr coiffeur* aquí peluquer* parrucchier* cabeleireir* "
        "aqui@pt traffic timezone commut* climate heatwave"
    ),
    "work": (
        "boss* linkedin colleague* coworker* job jobs cv résumé resume career* interview* salary "
        "office* employer* promotion* profession* workplace manager* client* payslip* overtime "
        "arbeit *arbeit chef chefin kolleg* beruf* bewerbung* lebenslauf gehalt* büro* travail* "
        "patron collègue* emploi* métier carrière salaire* bureau* entretien trabajo jefe jefa "
        "empleo* carrera@es sueldo* salario* oficina* entrevista* currículum lavoro capo@it collegh* "
        "carriera stipendio* ufficio* colloquio* trabalho* chefe emprego* carreira salário* "
        "escritório* 工作 上班 老板 同事 面试 简历 工资 team@en resign* coworking "
        "vorstellungsgespräch* karriere kündig* démission* renunci* ascenso dimission* demiss* 升职 "
        "辞职 加薪"
    ),
    "pet": (
        "pet pets dog dogs puppy puppies cat cats kitten* vet vets veterinar* parrot* hamster* "
        "rabbit* horse* bird birds fish@ tortoise* guinea aquarium leash deworm* dachshund* poodle* "
        "labrador* terrier* paws hund* katze* kater welpe* haustier* tierarzt* chien* chat@fr "
        "chats@fr chatte@fr chiot* animal@fr vétérinaire* perro* perra* gato* gata* mascota* "
        "veterinari* cane cani gatto gatta gatti cucciol* cachorro* cão cães 狗 猫 宠物 兽医 pup "
        "kennel litter@en fur flea fleas chiens perros gatos mascotas 遛狗 猫粮"
    ),
    "code": (
        "code* coding program program* function functions refactor* bug bugs debug* compil* script* "
        "api apis json csv sql regex database* query queries algorithm* loop loops array* unit-test* "
        "git deploy* server* frontend backend software developer* typescript javascript python java "
        "kotlin elixir phoenix rust golang ruby rails php c++ c# swift react vue svelte django flask "
        "linux docker kubernetes bash stacktrace exception* app apps crash* android ios library "
        "libraries framework* indentation tabs programmier* funktion* datenbank* fehlermeldung* "
        "programm* fonction* logiciel* base programa* código función funciones codice funzione* "
        "função 代码 编程 函数 程序 *error traceback pipeline repo repos repository repositories "
        "commit npm pip pytest html css sqlite postgres* mongodb redis terraform nginx terminal"
    ),
    "music": (
        "music* song* album* band* playlist* concert* listen* jazz rock metal techno trance opera "
        "fado bossa samba blues classical baroque hip-hop rap folk guitar* piano* violin* cello* "
        "oboe drums synth* vinyl singer* sing choir* flamenco orchestra* musik* lied lieder konzert* "
        "musique* chanson* música* canción canciones cancion* canzon* musica* canção canções 音乐 歌 "
        "爵士"
    ),
    "film": (
        "film* movie* series cinema* netflix watch tv show episode* documentar* horror sci-fi "
        "director* actor* serie serien kino kinofilm* série* película* cine 电影 电视剧"
    ),
    "book": (
        "book books novel* read reading author* audiobook* poetry poem* literature podcast* comics "
        "manga buch bücher roman* lesen livre* lire lecture@fr libro* libri leer leggere livro* ler "
        "书 小说 阅读"
    ),
    "game": (
        "game* gaming gamer* chess playstation xbox nintendo puzzle* spiel* jeu jeux juego* giochi jogo* 游戏"
    ),
    "garden": (
        "garden* plant* balcony balconies grow seeds seedling* vegetables soil greenhouse flower* "
        "tomatoes garten* pflanz* balkon* jardin* plante* balcon* jardín planta* giardin* piant* "
        "jardim 花园 植物 阳台 prune pruning roses tulip* compost weeds lawn terrasse huerto orto@it "
        "horta"
    ),
    "transport": (
        "car cars drive* driving bike* bicycle* motorbike* commut* fuel parking tyre* tire* licence "
        "auto autos fahrrad* voiture* vélo* coche* bici* macchina carro* 车"
    ),
    "language": (
        "language* translat* grammar vocabular* speak* fluent* accent* sprache* übersetz* langue* "
        "tradui* idioma* traduc* lingua* tradurr* traduz* 语言 翻译"
    ),
    "age": "age birthday* geburtstag* anniversaire* cumpleaños compleanno aniversário* 生日",
    "love": (
        "anniversary wedding* marriage honeymoon valentine* romantic date-night hochzeit* mariage* "
        "boda* matrimonio* casamento* 结婚 婚礼 married verheiratet marié* casad* sposat* jahrestag "
        "hochzeitstag"
    ),
    "money": (
        "budget* mortgage* loan* invest* savings tax taxes steuer* impôt* impuest* tasse@it imposto* "
        "钱 税 afford* rent@en mortgage"
    ),
}

# Phrases for domains whose single words are too ambiguous: "How does a pump work?", "the home page". Pairs of
# domain and regular expression.
DOMAIN_PHRASES = (
    (
        "place",
        r"\bwhere (?:i|we) live\b|\bwhere (?:i am|i'm|we are) (?:living|based|now)\b|"
        r"\baround here\b|\bmy (?:place|area|home|region|country|street)\b|\bat home\b|\bout tonight\b|"
        r"\bwo ich (?:wohne|lebe)\b|\bin meiner nähe\b|\bbei mir\b|\boù j'habite\b|\bprès de (?:chez )?moi\b|"
        r"\bchez moi\b|\bdonde vivo\b|\bdove (?:vivo|abito)\b|\bonde (?:moro|vivo)\b|\bfrom here\b|"
        r"\bhere[?.!]*$|\bclose to (?:me|us)\b|\bhow (?:hot|cold|warm) (?:will|is) (?:it|the weather)\b|"
        r"\bwhat time is it\b|\b(?:get|way|drive|ride) to work\b|\bwie spät\b|\bquelle heure\b|\bqué hora\b|"
        r"\bche ore\b|\bque horas\b",
    ),
    ("work", r"\b(?:at|my|from|after|to) work\b|\bwhere i work\b|\bfor a living\b|\bwo ich arbeite\b"),
    (
        "travel",
        r"\b(?:get|go|going|drive|travel) (?:from|to) (?-i:[A-Z])|\bby (?:train|plane)\b|"
        r"\bweek in (?-i:[A-Z])",
    ),
    (
        "name",
        r"\bmy (?:\w+ )?name\b|\bmein name\b|\bwie (?:ich heiße|heiße ich)\b|\bmon (?:pré)?nom\b|"
        r"\bmi nombre\b|\bcómo me llamo\b|\bil mio nome\b|\bmeu nome\b|我的名字|我叫什么",
    ),
    ("age", r"\bhow old am i\b|\bmy age\b|\bwie alt bin ich\b|\bmon âge\b|\bmi edad\b|\bla mia età\b|我多大"),
    (
        "taste",
        r"\bmy (?:hobb(?:y|ies)|interests|tastes?|favou?rites?|likes)\b|\bsurprise me\b|"
        r"\bi(?:'m| am) bored\b|"
        r"\bwhat (?:do|would|might) i (?:like|enjoy|prefer)\b|\b(?:gift|present|treat)s? for (?:me|myself)\b|"
        r"\bmeine? (?:hobb\w+|interessen)\b|\bmir ist langweilig\b|\bmes (?:loisirs|goûts)\b|"
        r"\bje m'ennuie\b|\bmis (?:aficiones|gustos)\b|\bme aburro\b|\bi miei (?:hobby|gusti)\b|"
        r"\bmi annoio\b|\bmeus (?:hobbies|gostos)\b|我的爱好|我好无聊",
    ),
    ("film", r"\bto watch\b"),
    ("food", r"\bto (?:eat|drink)\b"),
)

# Words for relatives and friends, in the same syntax as DOMAIN_WORDS.
RELATIVE_WORDS = {
    "wife": "wife ehefrau frau@de femme@fr épouse@fr esposa mujer@es moglie mulher@pt 妻子 老婆",
    "husband": "husband ehemann mann@de mari@fr esposo marito marido 丈夫 老公",
    "partner": (
        "partner girlfriend boyfriend fiancé fiancée freund@de freundin@de novio novia fidanzat* "
        "namorad* copain@fr copine@fr spouse 女朋友 男朋友 对象"
    ),
    "daughter": (
        "daughter* tochter töchter fille@fr filles@fr hija hijas figlia figlie filha filhas 女儿 girl girls"
    ),
    "son": "son@en sons sohn söhne fils@fr hijo@es figlio@it filho@pt 儿子 boy boys",
    "child": (
        "child children kid kids toddler* baby twin* kinder kindern kind@de enfant* hijos@es "
        "figli@it filhos@pt bambin* criança* 孩子 宝宝"
    ),
    "mother": "mother mom mum mama mutter mère maman madre mamá mamma mãe 妈妈 母亲",
    "father": "father dad papa vater père padre papá papà pai@pt 爸爸 父亲",
    "parents": "parents eltern padres@es genitori pais@pt 父母",
    "sister": "sister* schwester* sœur* soeur* hermana* sorell* irmã irmãs 姐姐 妹妹",
    "brother": "brother* bruder brüder frère* hermano* fratell* irmão irmãos 哥哥 弟弟",
    "sibling": "sibling* geschwister",
    "grandparent": (
        "grandmother* grandfather* grandma* grandpa* granny oma opa großeltern großmutter großvater "
        "grand-mère* grand-père* abuel* nonn* avó avô 奶奶 爷爷 外婆 外公"
    ),
    "cousin": "cousin* primo@es prima@es cugin*",
    "aunt": "aunt* uncle* tante onkel oncle tía tío zia zio tia@pt tio@pt 阿姨 叔叔",
    "nephew": "nephew* niece* neffe nichte neveu nièce sobrin* nipot*",
    "in-law": (
        "in-law in-laws mother-in-law father-in-law schwieger* belle-mère beau-père suegr* suocer* sogr*"
    ),
    "friend": "friend* kumpel* ami@fr amie@fr amis@fr amig* amic* 朋友",
    "relatives": "family relatives familie famille familia famiglia família 家人 家庭",
}

# A question about the key may be answered by a fact about one of the values: a "partner" may be a "wife".
OVERLAPPING_RELATIVES = {
    "partner": frozenset({"wife", "husband"}),
    "wife": frozenset({"partner"}),
    "husband": frozenset({"partner"}),
    "child": frozenset({"son", "daughter"}),
    "son": frozenset({"child"}),
    "daughter": frozenset({"child"}),
    "parents": frozenset({"mother", "father"}),
    "mother": frozenset({"parents"}),
    "father": frozenset({"parents"}),
    "sibling": frozenset({"sister", "brother"}),
    "relatives": frozenset(RELATIVE_WORDS) - {"friend"},
}

# Kinds of facts that belong to a domain whatever their words: a message about food needs diet and health.
KINDS_BY_DOMAIN = {
    "food": ("diet", "health"),
    "health": ("health",),
    "sport": ("health",),
    "sleep": ("health",),
    "travel": ("home", "language"),
    "place": ("home",),
    "work": ("job", "employer"),
    "pet": ("pet",),
    "code": ("tools",),
    "language": ("language",),
    "age": ("age",),
    "love": ("relationship",),
    "name": ("name",),
    "taste": ("likes", "habit"),
}
